/** Into what parts a file is cut: alike on every machine, so that an upload can be gone on with by another one. Pure. */
import type { ByteRange } from './storage.ts';

const MIB = 1_024 * 1_024;
/** In memory while it is sent, so not large; S3 wants 5 MiB at least. */
const PART_BYTES = 16 * MIB;
/** S3 takes 10,000 parts. */
const MOST_PARTS = 9_000;

export function partBytesFor(sizeBytes: number): number {
  return Math.max(PART_BYTES, Math.ceil(sizeBytes / MOST_PARTS / MIB) * MIB);
}

/** At least one part: an empty file has one of no bytes. */
export function partRanges(sizeBytes: number, partBytes: number = partBytesFor(sizeBytes)): readonly ByteRange[] {
  const count = Math.max(1, Math.ceil(sizeBytes / partBytes));
  return Array.from({ length: count }, (_, index) => ({
    start: index * partBytes,
    end: Math.min(sizeBytes, (index + 1) * partBytes),
  }));
}
