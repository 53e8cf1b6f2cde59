/**
 * Columns of a batch as arrays in PostgreSQL's binary format: one parameter a column, however many rows, so that a batch
 * is one statement far from the limit of 65,535 parameters, and vectors travel as their bytes instead of as decimal text.
 *
 * All numbers are big-endian on the wire, ours are little-endian.
 */
import type { VectorDtype } from '../../kserve/contract.ts';

const OIDS = { bool: 16, int8: 20, int4: 23, text: 25 } as const;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/** pgvector's own header: the number of dims, and two bytes that are zero. */
const VECTOR_HEADER_BYTES = 4;

export function textArray(values: readonly (string | undefined)[]): Buffer {
  return encodeArray(OIDS.text, values, Buffer.byteLength, (into, at, value) => void into.write(value, at));
}

export function int8Array(values: readonly (bigint | undefined)[]): Buffer {
  return encodeArray(
    OIDS.int8,
    values,
    () => 8,
    (into, at, value) => void into.writeBigInt64BE(value, at),
  );
}

export function int4Array(values: readonly number[]): Buffer {
  return encodeArray(
    OIDS.int4,
    values,
    () => 4,
    (into, at, value) => void into.writeInt32BE(value, at),
  );
}

export function boolArray(values: readonly boolean[]): Buffer {
  return encodeArray(
    OIDS.bool,
    values,
    () => 1,
    (into, at, value) => void into.writeUInt8(value ? 1 : 0, at),
  );
}

/** @param oid of the element type in this database, which differs from one to another */
export function vectorArray(oid: number, vectors: readonly Uint8Array[], dtype: VectorDtype): Buffer {
  return encodeArray(
    oid,
    vectors,
    (vector) => VECTOR_HEADER_BYTES + vector.length,
    (into, at, vector) => writeVector(into, at, vector, dtype),
  );
}

export function vectorValue(vector: Uint8Array, dtype: VectorDtype): Buffer {
  const value = Buffer.allocUnsafe(VECTOR_HEADER_BYTES + vector.length);
  writeVector(value, 0, vector, dtype);
  return value;
}

/** Little-endian elements of what PostgreSQL's send function gives for a vector. */
export function vectorBytes(sent: Buffer, dtype: VectorDtype): Uint8Array {
  const bytes = Buffer.from(sent.subarray(VECTOR_HEADER_BYTES));
  swap(bytes, dtype);
  return new Uint8Array(bytes);
}

function writeVector(into: Buffer, at: number, vector: Uint8Array, dtype: VectorDtype): void {
  into.writeUInt16BE(vector.length / (dtype === 'FP16' ? 2 : 4), at);
  into.writeUInt16BE(0, at + 2);
  into.set(vector, at + VECTOR_HEADER_BYTES);
  swap(into.subarray(at + VECTOR_HEADER_BYTES, at + VECTOR_HEADER_BYTES + vector.length), dtype);
}

function swap(bytes: Buffer, dtype: VectorDtype): void {
  if (dtype === 'FP16') bytes.swap16();
  else bytes.swap32();
}

function encodeArray<T>(
  oid: number,
  values: readonly (T | undefined)[],
  sizeOf: (value: T) => number,
  write: (into: Buffer, at: number, value: T) => void,
): Buffer {
  let bytes = HEADER_BYTES;
  const sizes = values.map((value) => (value === undefined ? NULL_LENGTH : sizeOf(value)));
  for (const size of sizes) bytes += LENGTH_BYTES + Math.max(size, 0);
  const array = Buffer.allocUnsafe(bytes);
  // One dimension, counted from 1.
  for (const [index, field] of [1, sizes.includes(NULL_LENGTH) ? 1 : 0, oid, values.length, 1].entries())
    array.writeUInt32BE(field, index * 4);
  let at = HEADER_BYTES;
  for (const [index, size] of sizes.entries()) {
    array.writeInt32BE(size, at);
    at += LENGTH_BYTES;
    if (size === NULL_LENGTH) continue;
    write(array, at, values[index] as T);
    at += size;
  }
  return array;
}
