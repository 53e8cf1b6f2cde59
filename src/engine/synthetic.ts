/**
 * Synthetic vectors: a pure function of a text's bytes, so that a test can tell bit for bit whose vector it holds.
 *
 * SHA-256 of the bytes gives eight 32-bit words; the first four XOR the last four seed xoshiro128**, whose outputs are
 * read as two signed 16-bit integers each, low half first. The integers are divided by the root of the sum of their
 * squares (both exact in a double) and rounded to FP16. Nothing depends on the machine.
 */
import { hash } from 'node:crypto';
import { encodeFp16 } from '../kserve/fp16.ts';

/** The normalised vector before it is rounded to FP16. */
export function syntheticValues(textBytes: Uint8Array, dims: number): Float32Array {
  const digest = hash('sha256', textBytes, 'buffer');
  let a = digest.readInt32LE(0) ^ digest.readInt32LE(16);
  let b = digest.readInt32LE(4) ^ digest.readInt32LE(20);
  let c = digest.readInt32LE(8) ^ digest.readInt32LE(24);
  let d = digest.readInt32LE(12) ^ digest.readInt32LE(28);
  const values = new Float32Array(dims);
  let squares = 0;
  for (let i = 0; i < dims; i += 2) {
    const mixed = Math.imul(b, 5);
    const output = Math.imul((mixed << 7) | (mixed >>> 25), 9);
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    const low = (output << 16) >> 16;
    const high = output >> 16;
    values[i] = low;
    squares += low * low;
    if (i + 1 < dims) {
      values[i + 1] = high;
      squares += high * high;
    }
  }
  const norm = Math.sqrt(squares);
  for (let i = 0; i < dims; i++) values[i]! /= norm;
  return values;
}

/** The row that the synthetic embedder answers: `dims` little-endian FP16 values. */
export function syntheticVector(textBytes: Uint8Array, dims: number): Uint8Array {
  return encodeFp16(syntheticValues(textBytes, dims));
}

/** The score that the synthetic reranker answers: the cosine of both sides' vectors before rounding, as FP32. */
export function syntheticScore(query: Uint8Array, passage: Uint8Array, dims: number): number {
  const a = syntheticValues(query, dims);
  const b = syntheticValues(passage, dims);
  let sum = 0;
  for (let i = 0; i < dims; i++) sum += a[i]! * b[i]!;
  return Math.fround(sum);
}
