/** Queries to vectors: what goes into a request, and what is checked of the answer before anyone searches with it. */
import { ServingError } from '../src/errors.ts';
import { encodeAll } from '../src/kserve/bytes.ts';
import { bytesPerVector, type VectorContract } from '../src/kserve/contract.ts';
import { embeddingOf, embeddingRequest } from '../src/kserve/embedding-tensors.ts';
import { decodeFp16 } from '../src/kserve/fp16.ts';
import type { InferRequest, InferResponse } from '../src/kserve/tensor.ts';
import { vectorError, vectorFault } from '../src/kserve/vector.ts';
import type { PoolCall } from './model-pool.ts';

export function embedRequest(contract: VectorContract, texts: readonly string[]): InferRequest {
  return embeddingRequest(contract, texts.length, { kind: 'inline', bytes: encodeAll(texts) });
}

/** A query's vector, or what is wrong with it. */
export type Row = Float32Array | ServingError;

/** `put` gets the row of each text. What it throws fails the call. */
export function embedCall(texts: readonly string[], put: (index: number, row: Row) => void): PoolCall<VectorContract> {
  return {
    rows: texts.length,
    request: (contract, from, to) =>
      embedRequest(contract, from === 0 && to === texts.length ? texts : texts.slice(from, to)),
    take: (response, contract, from, to) => {
      const bytes = inlineVectors(response, contract, to - from);
      const rowBytes = bytesPerVector(contract);
      for (let row = from; row < to; row++) {
        put(row, readVector(bytes.subarray((row - from) * rowBytes, (row - from + 1) * rowBytes), contract));
      }
    },
  };
}

/** For `put` where no row may be bad. */
export function vectorOf(row: Row): Float32Array {
  if (row instanceof ServingError) throw row;
  return row;
}

function inlineVectors(response: InferResponse, contract: VectorContract, rows: number): Uint8Array {
  const { data } = embeddingOf(response, contract, rows);
  if (data.kind === 'inline') return data.bytes;
  throw new ServingError('INFERENCE_RESPONSE_INVALID', `model ${contract.modelName} answered into shared memory`);
}

/** A vector with memory of its own, so that it can be kept or sent on without the answer it came in. */
function readVector(bytes: Uint8Array, { dtype, modelName }: VectorContract): Row {
  const fault = vectorFault(bytes, dtype);
  if (fault !== undefined) return vectorError(fault, modelName);
  if (dtype === 'FP16') return decodeFp16(bytes);
  return new Float32Array(new Uint8Array(bytes).buffer);
}
