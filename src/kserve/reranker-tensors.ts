/** The tensors of one reranking call (QUERY and PASSAGE in, SCORE out), and what is checked of the answer. */
import { ServingError } from '../errors.ts';
import {
  RERANKER_OUTPUT as OUTPUT,
  RERANKER_PASSAGE as PASSAGE,
  RERANKER_QUERY as QUERY,
  type RerankerContract,
} from './model-contract.ts';
import type { InferRequest, InferResponse } from './tensor.ts';

/** `queries` and `passages` as BYTES tensors, one element a row. */
export function rerankingRequest(
  contract: RerankerContract,
  rows: number,
  queries: Uint8Array,
  passages: Uint8Array,
): InferRequest {
  return {
    modelName: contract.modelName,
    inputs: [
      { name: QUERY, datatype: 'BYTES', shape: [rows, 1], data: { kind: 'inline', bytes: queries } },
      { name: PASSAGE, datatype: 'BYTES', shape: [rows, 1], data: { kind: 'inline', bytes: passages } },
    ],
    outputs: [{ name: OUTPUT }],
  };
}

/** One score a row, in memory of their own; they may be NaN or infinite. */
export function scoresOf(response: InferResponse, { modelName }: RerankerContract, rows: number): Float32Array {
  const output = response.outputs.find(({ name }) => name === OUTPUT);
  const bytes = output?.data.kind === 'inline' ? output.data.bytes : undefined;
  if (output?.datatype !== 'FP32' || bytes === undefined || bytes.byteLength !== rows * 4) {
    const found = output === undefined ? 'none' : `${output.datatype} [${output.shape.join(', ')}]`;
    throw invalidScores(modelName, `${found}, expected FP32 [${rows}, 1]`);
  }
  return new Float32Array(new Uint8Array(bytes).buffer);
}

export function invalidScores(modelName: string, what: string): ServingError {
  return new ServingError('INFERENCE_RESPONSE_INVALID', `model ${modelName}: scores are ${what}`);
}
