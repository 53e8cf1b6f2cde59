/**
 * BYTES codec: each element is a 4-byte little-endian length and then that many bytes, element after element.
 *
 * The length counts bytes, not characters. A lone surrogate is written as U+FFFD (ef bf bd) and counted as those three
 * bytes; NUL is an ordinary byte. Reading gives views into the tensor, never copies.
 */
import { type ErrorCode, ServingError } from '../errors.ts';

const PREFIX_BYTES = 4;
/** A UTF-16 code unit never needs more: a surrogate pair is two units and four bytes. */
const MAX_BYTES_PER_UNIT = 3;

/** Bytes of one element, its length prefix included. */
export function encodedSize(text: string): number {
  return PREFIX_BYTES + Buffer.byteLength(text, 'utf8');
}

export function encodedSizeOfAll(texts: readonly string[]): number {
  let size = 0;
  for (const text of texts) size += encodedSize(text);
  return size;
}

/**
 * Writes one element at `offset` and returns the offset after it. A text that does not fit throws ARGUMENT_INVALID
 * and leaves `target` as it was.
 */
export function writeBytes(target: Uint8Array, offset: number, text: string): number {
  const room = target.length - offset - PREFIX_BYTES;
  if (!Number.isInteger(offset) || offset < 0 || room < 0) throw noRoom(target, offset, text);
  // Counting first costs a pass over the text; it is needed only where the text might not fit.
  if (room < text.length * MAX_BYTES_PER_UNIT && Buffer.byteLength(text, 'utf8') > room) {
    throw noRoom(target, offset, text);
  }
  const buffer = asBuffer(target);
  const length = buffer.write(text, offset + PREFIX_BYTES, 'utf8');
  buffer.writeUInt32LE(length, offset);
  return offset + PREFIX_BYTES + length;
}

/** All texts as one tensor of exactly the needed size. */
export function encodeAll(texts: readonly string[]): Uint8Array {
  const target = Buffer.allocUnsafe(encodedSizeOfAll(texts));
  let offset = 0;
  for (const text of texts) offset = writeBytes(target, offset, text);
  return target;
}

/** Whose bytes they are decides the error: an answer of the server, or an argument of our caller. */
export type TensorFault = Extract<ErrorCode, 'INFERENCE_RESPONSE_INVALID' | 'ARGUMENT_INVALID'>;

/** Views of the elements. `count`, where given, must be met exactly; so must the end of the tensor. */
export function decodeElements(bytes: Uint8Array, fault: TensorFault, count?: number): Uint8Array[] {
  const elements: Uint8Array[] = [];
  walk(bytes, fault, count, (start, end) => elements.push(bytes.subarray(start, end)));
  return elements;
}

/** The checks of `decodeElements` alone. */
export function checkElements(bytes: Uint8Array, fault: TensorFault, count: number): void {
  walk(bytes, fault, count, () => {});
}

function walk(
  bytes: Uint8Array,
  fault: TensorFault,
  count: number | undefined,
  take: (start: number, end: number) => void,
): void {
  let found = 0;
  for (let offset = 0; offset < bytes.length; found++) {
    const start = offset + PREFIX_BYTES;
    const end = start <= bytes.length ? start + lengthAt(bytes, offset) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) throw cutShort(bytes, offset, found, fault);
    take(start, end);
    offset = end;
  }
  if (count !== undefined && found !== count) {
    throw new ServingError(fault, `BYTES tensor holds ${found} elements where its shape says ${count}`, {
      details: { elements: found, expected: count, byteSize: bytes.length },
    });
  }
}

/** Text of one element; bytes that are no UTF-8 read as U+FFFD. */
export function elementText(element: Uint8Array): string {
  return asBuffer(element).toString('utf8');
}

export function decodeTexts(bytes: Uint8Array, fault: TensorFault, count?: number): string[] {
  return decodeElements(bytes, fault, count).map(elementText);
}

/** The same memory as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function lengthAt(bytes: Uint8Array, offset: number): number {
  // `>>> 0`: a length of 2^31 or more is too long, not negative.
  return (bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16) | (bytes[offset + 3]! << 24)) >>> 0;
}

function noRoom(target: Uint8Array, offset: number, text: string): ServingError {
  const size = encodedSize(text);
  return new ServingError(
    'ARGUMENT_INVALID',
    `BYTES element of ${size} bytes does not fit at offset ${offset} of ${target.length} bytes`,
    { details: { elementBytes: size, offset, targetBytes: target.length } },
  );
}

function cutShort(bytes: Uint8Array, offset: number, index: number, fault: TensorFault): ServingError {
  const left = bytes.length - offset;
  const what = left < PREFIX_BYTES ? 'has no whole length prefix' : `says ${lengthAt(bytes, offset)} bytes`;
  return new ServingError(fault, `BYTES tensor is cut short: element ${index} ${what}, ${left} bytes are left`, {
    details: { element: index, offset, byteSize: bytes.length },
  });
}
