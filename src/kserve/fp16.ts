/**
 * FP16 (IEEE 754 binary16) to FP32 and back, for scalars and for tensors of little-endian elements.
 *
 * Every FP16 value is an FP32 value, so reading is exact. Writing rounds to nearest, ties to even: what is too large
 * becomes Infinity (from 65,520 on), what is too small a subnormal or zero; signs of zero and NaN stay.
 */
import { ServingError } from '../errors.ts';

const scalar = new Float32Array(1);
const scalarBits = new Uint32Array(scalar.buffer);

/** Exact value of 16 bits of FP16. */
export function fp16ToFp32(bits: number): number {
  const fraction = bits & 0x3ff;
  const exponent = (bits >>> 10) & 0x1f;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Bits of the nearest FP16 of an FP32 value. A number that is no FP32 value is rounded to one first. */
export function fp32ToFp16(value: number): number {
  scalar[0] = value;
  return encodeBits(scalarBits[0]!);
}

/** Values of a raw FP16 tensor. */
export function decodeFp16(bytes: Uint8Array): Float32Array {
  if (bytes.length % 2 !== 0) {
    throw new ServingError('ARGUMENT_INVALID', `FP16 tensor has ${bytes.length} bytes, not a multiple of 2`, {
      details: { byteSize: bytes.length },
    });
  }
  const table = fp16Values();
  const values = new Float32Array(bytes.length / 2);
  // Byte by byte, because a tensor inside a message or a region may start at an odd address.
  for (let i = 0, at = 0; i < values.length; i++, at += 2) {
    values[i] = table[bytes[at]! | (bytes[at + 1]! << 8)]!;
  }
  return values;
}

/** Raw FP16 tensor of FP32 values. */
export function encodeFp16(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 2);
  writeFp16(bytes, 0, values);
  return bytes;
}

/** Writes values as FP16 at a byte offset and returns the offset after them. */
export function writeFp16(target: Uint8Array, offset: number, values: Float32Array): number {
  const end = offset + values.length * 2;
  if (!Number.isInteger(offset) || offset < 0 || end > target.length) {
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${values.length} FP16 values do not fit at offset ${offset} of ${target.length} bytes`,
      { details: { values: values.length, offset, targetBytes: target.length } },
    );
  }
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0, at = offset; i < bits.length; i++, at += 2) {
    const half = encodeBits(bits[i]!);
    target[at] = half;
    target[at + 1] = half >>> 8;
  }
  return end;
}

let values: Float32Array | undefined;

/** Value of each of the 65,536 bit patterns: 256 KiB, made at the first use. */
export function fp16Values(): Float32Array {
  return (values ??= Float32Array.from({ length: 0x10000 }, (_, bits) => fp16ToFp32(bits)));
}

function encodeBits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  // NaN: 0x7e00 keeps it a (quiet) NaN even when the upper payload bits are zero.
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // 65,520 is half-way between the largest FP16 and the next power of two, and rounds up to Infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) return sign | encodeSubnormal(magnitude);
  // Adding just under half of the last kept bit, or all of it when that bit is odd, rounds ties to even; a carry moves
  // into the exponent, which is the right answer. Then the exponent bias changes from 127 to 15.
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

/** Below 2^-14: multiples of 2^-24. Half of that unit, 2^-25, ties to zero. */
function encodeSubnormal(magnitude: number): number {
  if (magnitude < 0x33000000) return 0;
  const shift = 126 - (magnitude >>> 23);
  const fraction = (magnitude & 0x7fffff) | 0x800000;
  const kept = fraction >>> shift;
  const lost = fraction & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return lost > half || (lost === half && (kept & 1) === 1) ? kept + 1 : kept;
}
