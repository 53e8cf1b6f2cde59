/**
 * What makes a vector unfit for a store: an element that is not finite, no direction at all, or a length other than 1.
 *
 * Looks at bits, 32 at a time, so nothing is decoded and an FP16 vector is checked two elements a step. A vector is zero
 * when every element is +0 or -0: cosine is undefined for it.
 */
import { type ErrorCode, ServingError } from '../errors.ts';
import type { VectorDtype } from './contract.ts';
import { fp16Values } from './fp16.ts';

export type VectorFault = Extract<ErrorCode, 'VECTOR_NOT_FINITE' | 'VECTOR_ZERO' | 'VECTOR_NOT_UNIT'>;

/** Bits of one 32-bit word of elements; `lowestExponent` carries a full exponent, and no other, into the sign bit. */
const WORDS = {
  FP16: { signs: 0x80008000, exponents: 0x7c007c00, lowestExponent: 0x04000400 },
  FP32: { signs: 0x80000000, exponents: 0x7f800000, lowestExponent: 0x00800000 },
} as const satisfies Record<VectorDtype, unknown>;

/** Fault of one raw little-endian vector, or undefined for a sound one. */
export function vectorFault(vector: Uint8Array, dtype: VectorDtype): VectorFault | undefined {
  const { signs, exponents, lowestExponent } = WORDS[dtype];
  // A copy only where the vector lies at an odd place of a message: words must be aligned.
  const aligned = vector.byteOffset % 4 === 0 ? vector : new Uint8Array(vector);
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >>> 2);
  // An FP16 vector of odd length ends in half a word.
  const rest = aligned.length % 4 === 2 ? aligned.at(-2)! | (aligned.at(-1)! << 8) : 0;
  let anyBit = rest & ~signs;
  let carried = (rest & exponents) + lowestExponent;
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    anyBit |= word & ~signs;
    carried |= (word & exponents) + lowestExponent;
  }
  if ((carried & signs) !== 0) return 'VECTOR_NOT_FINITE';
  return anyBit === 0 ? 'VECTOR_ZERO' : undefined;
}

/** Rounding 1,024 elements to FP16 moves the length by less than a thousandth; a sum in FP16 inside a model by more. */
const NORM_TOLERANCE = 0.02;
const MIN_SQUARES = (1 - NORM_TOLERANCE) ** 2;
const MAX_SQUARES = (1 + NORM_TOLERANCE) ** 2;

/** Whether a raw little-endian vector has length 1, within 2 %. */
export function isUnit(vector: Uint8Array, dtype: VectorDtype): boolean {
  const bytesPerElement = dtype === 'FP16' ? 2 : 4;
  const aligned = vector.byteOffset % bytesPerElement === 0 ? vector : new Uint8Array(vector);
  const count = aligned.length / bytesPerElement;
  let squares = 0;
  if (dtype === 'FP16') {
    const values = fp16Values();
    const bits = new Uint16Array(aligned.buffer, aligned.byteOffset, count);
    for (let i = 0; i < count; i++) squares += values[bits[i]!]! ** 2;
  } else {
    const values = new Float32Array(aligned.buffer, aligned.byteOffset, count);
    for (let i = 0; i < count; i++) squares += values[i]! ** 2;
  }
  return squares >= MIN_SQUARES && squares <= MAX_SQUARES;
}

const SAYS = {
  VECTOR_ZERO: 'all zeros',
  VECTOR_NOT_FINITE: 'not finite',
  VECTOR_NOT_UNIT: 'not of length 1',
} as const satisfies Record<VectorFault, string>;

export function vectorError(fault: VectorFault, modelName: string): ServingError {
  return new ServingError(fault, `model ${modelName} gave a vector that is ${SAYS[fault]}`);
}
