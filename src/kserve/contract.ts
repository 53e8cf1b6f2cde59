/** What we expect of an embedding model, and what its own metadata and config say. */

export type VectorDtype = 'FP16' | 'FP32';

/** Shape and identity of the vectors that a model gives: fixed for the life of a worker and of a collection. */
export type VectorContract = {
  readonly modelName: string;
  /** Identity of model, revision, tokenizer, pooling, dtype and dims; written with every vector. */
  readonly fingerprint: string;
  readonly dims: number;
  readonly dtype: VectorDtype;
  /** Largest batch of one call. */
  readonly maxBatch: number;
};

export function bytesPerVector(contract: Pick<VectorContract, 'dims' | 'dtype'>): number {
  return contract.dims * (contract.dtype === 'FP16' ? 2 : 4);
}
