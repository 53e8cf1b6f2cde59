/** The rows of a golden file as calls to a live model: what goes into a request for some of them, and what comes back. */
import { ServingError } from '../errors.ts';
import { encodeAll } from '../kserve/bytes.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import { embeddingOf, embeddingRequest } from '../kserve/embedding-tensors.ts';
import { decodeFp16 } from '../kserve/fp16.ts';
import { embedderContract, type RerankerContract, rerankerContract } from '../kserve/model-contract.ts';
import type { ModelDescription } from '../kserve/model-description.ts';
import { rerankingRequest, scoresOf } from '../kserve/reranker-tensors.ts';
import type { InferRequest, InferResponse } from '../kserve/tensor.ts';
import type { LabelledPair, LabelledText } from './texts.ts';

export type Questions =
  | { readonly kind: 'embedder'; readonly rows: readonly LabelledText[] }
  | { readonly kind: 'reranker'; readonly rows: readonly LabelledPair[] };

/** What a live model is, and how its rows are asked for. Rows may hold NaN. */
export type Asking = {
  readonly fingerprint: string | undefined;
  readonly maxBatch: number;
  /** Undefined of a reranker. */
  readonly vector: VectorContract | undefined;
  request(indices: readonly number[]): InferRequest;
  /** One row for each index: a vector, or a score as a vector of one. Throws INFERENCE_RESPONSE_INVALID. */
  read(response: InferResponse, rows: number): Float32Array[];
};

/** Throws MODEL_CONTRACT_MISMATCH when the live model is no model of this kind. */
export function askingOf(questions: Questions, model: ModelDescription): Asking {
  return questions.kind === 'embedder'
    ? askEmbedder(questions.rows, embedderContract(model))
    : askReranker(questions.rows, rerankerContract(model), model);
}

function askEmbedder(rows: readonly LabelledText[], contract: VectorContract): Asking {
  return {
    fingerprint: contract.fingerprint,
    maxBatch: contract.maxBatch,
    vector: contract,
    request: (indices) => {
      const bytes = encodeAll(indices.map((index) => rows[index]!.text));
      return embeddingRequest(contract, indices.length, { kind: 'inline', bytes });
    },
    read: (response, count) => {
      const { data } = embeddingOf(response, contract, count);
      if (data.kind !== 'inline') {
        throw new ServingError('INFERENCE_RESPONSE_INVALID', `model ${contract.modelName} answered into shared memory`);
      }
      const rowBytes = bytesPerVector(contract);
      return Array.from({ length: count }, (_, row) => {
        // A copy: FP32 must be aligned, and the answer's memory is not kept for the sake of a row.
        const bytes = new Uint8Array(data.bytes.subarray(row * rowBytes, (row + 1) * rowBytes));
        return contract.dtype === 'FP16' ? decodeFp16(bytes) : new Float32Array(bytes.buffer);
      });
    },
  };
}

function askReranker(rows: readonly LabelledPair[], contract: RerankerContract, model: ModelDescription): Asking {
  const given = model.parameters.fingerprint?.trim() ?? '';
  return {
    fingerprint: given === '' ? undefined : given,
    maxBatch: contract.maxBatch,
    vector: undefined,
    request: (indices) => {
      const queries = encodeAll(indices.map((index) => rows[index]!.query));
      const passages = encodeAll(indices.map((index) => rows[index]!.passage));
      return rerankingRequest(contract, indices.length, queries, passages);
    },
    read: (response, count) => [...scoresOf(response, contract, count)].map((score) => Float32Array.of(score)),
  };
}
