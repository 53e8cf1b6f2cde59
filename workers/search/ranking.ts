/** The order of what was found: the store's, or that of the reranker, which gives the store's back when it cannot. */
import type { CallLimits, DegradedReason, Online } from '../../online/index.ts';
import type { SearchHit } from '../../src/sinks/sink.ts';

export type Found = {
  readonly rank: number;
  readonly score: number;
  /** Cosine, whatever the score is. */
  readonly similarity: number;
  readonly hit: SearchHit;
};

export type Ranking = {
  readonly found: readonly Found[];
  readonly source: 'similarity' | 'reranker' | 'rrf';
  /** Why the reranker did not order them. */
  readonly degraded: DegradedReason | 'no-text' | undefined;
};

export function rankedBySimilarity(hits: readonly SearchHit[]): Ranking {
  const found = hits.map((hit, index) => ({ rank: index + 1, score: hit.score, similarity: hit.score, hit }));
  return { found, source: 'similarity', degraded: undefined };
}

export async function rankedByReranker(
  online: Pick<Online, 'rerank'>,
  query: string,
  hits: readonly SearchHit[],
  limits: CallLimits & { readonly topK: number },
): Promise<Ranking> {
  if (hits.length === 0) return { found: [], source: 'reranker', degraded: undefined };
  if (hits.some(({ text }) => text === undefined)) {
    return { ...rankedBySimilarity(hits.slice(0, limits.topK)), degraded: 'no-text' };
  }
  const candidates = hits.map(({ chunkId, text }) => ({ id: chunkId, text: text ?? '' }));
  const { results, source, degraded } = await online.rerank(query, candidates, limits);
  const found = results.map(({ rank, score, index }) => {
    const hit = hits[index]!;
    return { rank, score, similarity: hit.score, hit };
  });
  return { found, source: source === 'rrf' ? 'rrf' : 'reranker', degraded };
}
