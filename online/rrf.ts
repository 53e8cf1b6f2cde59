/** The fallback of `rerank`: the incoming order, scored by reciprocal rank. Pure, and needs nothing that can fail. */
import { DEFAULT_RRF_K } from './fuse.ts';

/** What is ranked: an id of the caller's, not necessarily unique. */
export type Candidate = { readonly id: string; readonly text: string };

export type Ranked = {
  readonly id: string;
  /** Place among the candidates as they were given, from 0. */
  readonly index: number;
  readonly score: number;
  /** From 1. */
  readonly rank: number;
};

/** The first `count` candidates in the order given: rank r scores 1 / (60 + r). */
export function inIncomingOrder(candidates: readonly Candidate[], count: number): Ranked[] {
  const results = new Array<Ranked>(Math.min(count, candidates.length));
  for (let index = 0; index < results.length; index++) {
    const rank = index + 1;
    results[index] = { id: candidates[index]!.id, index, score: 1 / (DEFAULT_RRF_K + rank), rank };
  }
  return results;
}

/** The `count` best by score; equal scores keep the order given. */
export function byScore(candidates: readonly Candidate[], scores: Float32Array, count: number): Ranked[] {
  const order = Array.from(candidates, (_, index) => index);
  order.sort((a, b) => scores[b]! - scores[a]! || a - b);
  if (order.length > count) order.length = count;
  return order.map((index, place) => ({
    id: candidates[index]!.id,
    index,
    score: scores[index]!,
    rank: place + 1,
  }));
}
