/** Splits the vectors of a batch into rows and says which are fit to store. Views, no copies. */
import { ServingError } from '../errors.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import { isUnit, type VectorFault, vectorFault } from '../kserve/vector.ts';

export type VectorRow =
  | { readonly kind: 'sound'; readonly vector: Uint8Array }
  | { readonly kind: 'faulty'; readonly error: ServingError };

/** `unit`: the model normalises, so another length is a fault. `any`: it does not. */
export type VectorNorm = 'unit' | 'any';

const SAYS = {
  VECTOR_ZERO: 'all zeros',
  VECTOR_NOT_FINITE: 'not finite',
  VECTOR_NOT_UNIT: 'not of length 1',
} as const satisfies Record<VectorFault, string>;

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
    const fault = vectorFault(vector, contract.dtype) ?? normFault(vector, contract, norm);
    if (fault === undefined) return { kind: 'sound', vector };
    const error = new ServingError(fault, `model ${contract.modelName} gave a vector that is ${SAYS[fault]}`);
    return { kind: 'faulty', error };
  });
}

function normFault(vector: Uint8Array, { dtype }: VectorContract, norm: VectorNorm): VectorFault | undefined {
  return norm === 'any' || isUnit(vector, dtype) ? undefined : 'VECTOR_NOT_UNIT';
}
