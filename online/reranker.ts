/** Pairs of query and passage to scores: what goes into a request, and what is checked of the answer. */
import { encodeAll } from '../src/kserve/bytes.ts';
import type { RerankerContract } from '../src/kserve/model-contract.ts';
import { invalidScores, rerankingRequest, scoresOf } from '../src/kserve/reranker-tensors.ts';
import type { InferRequest, InferResponse } from '../src/kserve/tensor.ts';
import type { PoolCall } from './model-pool.ts';

export function rerankRequest(contract: RerankerContract, query: string, passages: readonly string[]): InferRequest {
  const rows = passages.length;
  const element = encodeAll([query]);
  // The same query in every row: encoded once, its bytes repeated.
  const queries = Buffer.alloc(rows * element.length, element);
  return rerankingRequest(contract, rows, queries, encodeAll(passages));
}

/** Fills `scores` in the order of the passages. */
export function rerankCall(
  query: string,
  passages: readonly string[],
  scores: Float32Array,
): PoolCall<RerankerContract> {
  return {
    rows: passages.length,
    request: (contract, from, to) => rerankRequest(contract, query, passages.slice(from, to)),
    take: (response, contract, from, to) => scores.set(readScores(response, contract, to - from), from),
  };
}

function readScores(response: InferResponse, contract: RerankerContract, rows: number): Float32Array {
  const scores = scoresOf(response, contract, rows);
  if (!scores.every(Number.isFinite)) throw invalidScores(contract.modelName, 'not all finite');
  return scores;
}
