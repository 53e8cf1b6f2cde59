/** Splits the vectors of a batch into rows and says which are fit to store. Views, no copies. */
import { ServingError } from '../errors.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import { vectorFault } from '../kserve/vector.ts';

export type VectorRow =
  | { readonly kind: 'sound'; readonly vector: Uint8Array }
  | { readonly kind: 'faulty'; readonly error: ServingError };

export function vectorRows(vectors: Uint8Array, rows: number, contract: VectorContract): VectorRow[] {
  const rowBytes = bytesPerVector(contract);
  if (vectors.byteLength !== rows * rowBytes) {
    throw new ServingError(
      'INFERENCE_RESPONSE_INVALID',
      `model ${contract.modelName} answered ${vectors.byteLength} bytes of vectors, expected ${rows} × ${rowBytes}`,
    );
  }
  return Array.from({ length: rows }, (_, row) => {
    const vector = vectors.subarray(row * rowBytes, (row + 1) * rowBytes);
    const fault = vectorFault(vector, contract.dtype);
    if (fault === undefined) return { kind: 'sound', vector };
    return {
      kind: 'faulty',
      error: new ServingError(
        fault,
        `model ${contract.modelName} gave a vector that is ${fault === 'VECTOR_ZERO' ? 'all zeros' : 'not finite'}`,
      ),
    };
  });
}
