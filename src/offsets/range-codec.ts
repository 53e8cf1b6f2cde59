/**
 * Ranges of offsets as bytes, in two ways: a bit for each offset, or the lengths of gaps and runs. Both count from `base`,
 * which is not stored. Whoever chooses asks for the sizes first; both can stop early, at what fits.
 *
 * Reading is strict: bytes that this file would not have written are refused.
 */
import type { OffsetRange } from './offset-range.ts';

export function bitsetBytes(base: bigint, ranges: readonly OffsetRange[]): number {
  const last = ranges.at(-1);
  return last === undefined ? 0 : Math.ceil(Number(last.end - base) / 8);
}

export function runsBytes(base: bigint, ranges: readonly OffsetRange[]): number {
  let bytes = 0;
  let from = base;
  for (const { start, end } of ranges) {
    bytes += numberBytes(Number(start - from)) + numberBytes(Number(end - start));
    from = end;
  }
  return bytes;
}

/** The beginning of the ranges that a bitset of `maxBytes` can hold. */
export function fitBitset(base: bigint, ranges: readonly OffsetRange[], maxBytes: number): OffsetRange[] {
  const limit = base + BigInt(maxBytes) * 8n;
  return ranges
    .filter(({ start }) => start < limit)
    .map(({ start, end }) => ({ start, end: end < limit ? end : limit }));
}

/** The beginning of the ranges whose runs fit into `maxBytes`. */
export function fitRuns(base: bigint, ranges: readonly OffsetRange[], maxBytes: number): OffsetRange[] {
  let bytes = 0;
  let from = base;
  const fit = ranges.findIndex(({ start, end }) => {
    const [gap, length] = [Number(start - from), Number(end - start)];
    bytes += numberBytes(gap) + numberBytes(length);
    from = end;
    return bytes > maxBytes || !Number.isSafeInteger(gap) || !Number.isSafeInteger(length);
  });
  return fit < 0 ? [...ranges] : ranges.slice(0, fit);
}

export function writeBitset(base: bigint, ranges: readonly OffsetRange[]): Uint8Array {
  const bytes = new Uint8Array(bitsetBytes(base, ranges));
  for (const { start, end } of ranges) {
    const to = Number(end - base);
    for (let bit = Number(start - base); bit < to; bit++) bytes[bit >>> 3]! |= 1 << (bit & 7);
  }
  return bytes;
}

export function readBitset(base: bigint, bytes: Uint8Array): OffsetRange[] | undefined {
  if (bytes.length === 0 || bytes.at(-1) === 0) return undefined;
  const ranges: OffsetRange[] = [];
  let start: number | undefined;
  for (let bit = 0; bit <= bytes.length * 8; bit++) {
    const set = ((bytes[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;
    if (set) start ??= bit;
    else if (start !== undefined) {
      ranges.push({ start: base + BigInt(start), end: base + BigInt(bit) });
      start = undefined;
    }
  }
  return ranges;
}

export function writeRuns(base: bigint, ranges: readonly OffsetRange[]): Uint8Array {
  const bytes = new Uint8Array(runsBytes(base, ranges));
  let at = 0;
  const write = (value: number) => {
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes[at++] = (left % 0x80) | 0x80;
    bytes[at++] = left;
  };
  let from = base;
  for (const { start, end } of ranges) {
    write(Number(start - from));
    write(Number(end - start));
    from = end;
  }
  return bytes;
}

export function readRuns(base: bigint, bytes: Uint8Array): OffsetRange[] | undefined {
  const numbers = readNumbers(bytes);
  if (numbers === undefined || numbers.length === 0 || numbers.length % 2 !== 0) return undefined;
  const ranges: OffsetRange[] = [];
  let from = base;
  for (let i = 0; i < numbers.length; i += 2) {
    const [gap, length] = [numbers[i]!, numbers[i + 1]!];
    if (length === 0 || (gap === 0 && i > 0)) return undefined;
    const start = from + BigInt(gap);
    from = start + BigInt(length);
    ranges.push({ start, end: from });
  }
  return ranges;
}

/** Seven bits a byte, low ones first; the high bit says that more follow. */
function readNumbers(bytes: Uint8Array): number[] | undefined {
  const numbers: number[] = [];
  let value = 0;
  let scale = 1;
  for (const byte of bytes) {
    value += (byte & 0x7f) * scale;
    if (!Number.isSafeInteger(value)) return undefined;
    if (byte >= 0x80) {
      scale *= 0x80;
      continue;
    }
    if (byte === 0 && scale > 1) return undefined;
    numbers.push(value);
    value = 0;
    scale = 1;
  }
  return scale === 1 ? numbers : undefined;
}

function numberBytes(value: number): number {
  let bytes = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) bytes++;
  return bytes;
}
