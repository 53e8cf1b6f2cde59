/** Exact cosine search for sinks that have no vector engine: decode, score, keep the best. Pure. */
import { ServingError } from '../errors.ts';
import type { VectorContract, VectorDtype } from '../kserve/contract.ts';
import { decodeFp16 } from '../kserve/fp16.ts';

/** Values of one raw little-endian vector. */
export function decodeVector(bytes: Uint8Array, dtype: VectorDtype): Float32Array {
  if (dtype === 'FP16') return decodeFp16(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(i * 4, true));
}

/** Cosine similarity; 0 when a vector has no direction. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    aa += a[i]! * a[i]!;
    bb += b[i]! * b[i]!;
  }
  const norm = Math.sqrt(aa) * Math.sqrt(bb);
  return norm === 0 ? 0 : dot / norm;
}

/** Refuses a query that no row could be compared with. */
export function checkQuery(vector: Float32Array, limit: number, contract: Pick<VectorContract, 'dims'>): void {
  if (vector.length !== contract.dims) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `the query vector has ${vector.length} dims, the collection ${contract.dims}`,
    );
  }
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new ServingError('ARGUMENT_INVALID', `limit is ${limit}; it must be an integer of at least 1`);
  }
}

/** The `limit` best of what is offered, best first; equal scores in the order they came. */
export class Nearest<T> {
  readonly #limit: number;
  readonly #kept: { readonly score: number; readonly item: T }[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(score: number, item: T): void {
    const worst = this.#kept.at(-1);
    if (this.#kept.length === this.#limit && worst !== undefined && score <= worst.score) return;
    const after = this.#kept.findIndex((entry) => entry.score < score);
    this.#kept.splice(after === -1 ? this.#kept.length : after, 0, { score, item });
    if (this.#kept.length > this.#limit) this.#kept.pop();
  }

  best(): readonly { readonly score: number; readonly item: T }[] {
    return this.#kept;
  }
}
