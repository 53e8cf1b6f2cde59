/** Splits the vectors of a batch into rows and says which are fit to store. Views, no copies. */
import { ServingError } from '../errors.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import { isUnit, type VectorFault, vectorError, vectorFault } from '../kserve/vector.ts';

export type VectorRow =
  | { readonly kind: 'sound'; readonly vector: Uint8Array }
  | { readonly kind: 'faulty'; readonly error: ServingError };

/** `unit`: the model normalises, so another length is a fault. `any`: it does not. */
export type VectorNorm = 'unit' | 'any';

export function vectorRows(vectors: Uint8Array, rows: number, contract: VectorContract, norm: VectorNorm): VectorRow[] {
  const rowBytes = bytesPerVector(contract);
  if (vectors.byteLength !== rows * rowBytes) {
    throw new ServingError(
      'INFERENCE_RESPONSE_INVALID',
      `model ${contract.modelName} answered ${vectors.byteLength} bytes of vectors, expected ${rows} × ${rowBytes}`,
    );
  }
  return Array.from({ length: rows }, (_, row) => {
    const vector = vectors.subarray(row * rowBytes, (row + 1) * rowBytes);
    const fault = faultOf(vector, contract, norm);
    if (fault === undefined) return { kind: 'sound', vector };
    return { kind: 'faulty', error: vectorError(fault, contract.modelName) };
  });
}

/** A vector of length 1 is finite and not zero, so a sound one is looked at once. */
function faultOf(vector: Uint8Array, { dtype }: VectorContract, norm: VectorNorm): VectorFault | undefined {
  if (norm === 'any') return vectorFault(vector, dtype);
  return isUnit(vector, dtype) ? undefined : (vectorFault(vector, dtype) ?? 'VECTOR_NOT_UNIT');
}
