/** Pairs of query and passage to scores: what goes into a request, and what is checked of the answer. */
import { ServingError } from '../src/errors.ts';
import { encodeAll } from '../src/kserve/bytes.ts';
import {
  RERANKER_OUTPUT as OUTPUT,
  RERANKER_PASSAGE as PASSAGE,
  RERANKER_QUERY as QUERY,
  type RerankerContract,
} from '../src/kserve/model-contract.ts';
import type { InferRequest, InferResponse } from '../src/kserve/tensor.ts';
import type { PoolCall } from './model-pool.ts';

export function rerankRequest(contract: RerankerContract, query: string, passages: readonly string[]): InferRequest {
  const rows = passages.length;
  const element = encodeAll([query]);
  // The same query in every row: encoded once, its bytes repeated.
  const queries = Buffer.alloc(rows * element.length, element);
  return {
    modelName: contract.modelName,
    inputs: [
      { name: QUERY, datatype: 'BYTES', shape: [rows, 1], data: { kind: 'inline', bytes: queries } },
      { name: PASSAGE, datatype: 'BYTES', shape: [rows, 1], data: { kind: 'inline', bytes: encodeAll(passages) } },
    ],
    outputs: [{ name: OUTPUT }],
  };
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

function readScores(response: InferResponse, { modelName }: RerankerContract, rows: number): Float32Array {
  const output = response.outputs.find(({ name }) => name === OUTPUT);
  const bytes = output?.data.kind === 'inline' ? output.data.bytes : undefined;
  if (output?.datatype !== 'FP32' || bytes === undefined || bytes.byteLength !== rows * 4) {
    const found = output === undefined ? 'none' : `${output.datatype} [${output.shape.join(', ')}]`;
    throw invalid(modelName, `${found}, expected FP32 [${rows}, 1]`);
  }
  const scores = new Float32Array(new Uint8Array(bytes).buffer);
  if (!scores.every(Number.isFinite)) throw invalid(modelName, 'not all finite');
  return scores;
}

function invalid(modelName: string, what: string): ServingError {
  return new ServingError('INFERENCE_RESPONSE_INVALID', `model ${modelName}: scores are ${what}`);
}
