/**
 * Reciprocal rank fusion: one ranking from several, by rank alone. Pure.
 *
 * A document scores the sum of 1 / (k + rank) over the rankings that hold it, rank from 1; a ranking that lacks it adds
 * nothing. Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
 * Learning Methods", SIGIR 2009, which also gives k = 60.
 */
import { ServingError } from '../src/errors.ts';

export type FuseOptions = {
  /** Finite and ≥ 0; 60 unless given. The larger, the less the first places count. */
  readonly k?: number;
};

export type FusedResult = {
  readonly id: string;
  /** Sum of 1 / (k + rank). */
  readonly score: number;
  /** From 1. */
  readonly rank: number;
};

export const DEFAULT_RRF_K = 60;

/**
 * Best first. An id that stands twice in one ranking counts once, at its better place. Equal scores keep the order of
 * first appearance, ranking after ranking. Throws ARGUMENT_INVALID for a k that is no number ≥ 0.
 */
export function fuse(rankings: readonly (readonly string[])[], { k = DEFAULT_RRF_K }: FuseOptions = {}): FusedResult[] {
  if (!Number.isFinite(k) || k < 0) {
    throw new ServingError('ARGUMENT_INVALID', `k must be a finite number ≥ 0, not ${k}`);
  }
  const scores = new Map<string, number>();
  for (const ranking of rankings) {
    const seen = new Set<string>();
    ranking.forEach((id, index) => {
      if (seen.has(id)) return;
      seen.add(id);
      scores.set(id, (scores.get(id) ?? 0) + 1 / (k + index + 1));
    });
  }
  // A Map keeps the order of insertion and sorting is stable: that is the tie rule.
  return [...scores].sort(([, a], [, b]) => b - a).map(([id, score], index) => ({ id, score, rank: index + 1 }));
}
