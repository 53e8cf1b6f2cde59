/** A stretch of offsets, `end` not included. Lists of them are ascending, and neighbours do not touch. */
export type OffsetRange = { readonly start: bigint; readonly end: bigint };

export function countOffsets(ranges: readonly OffsetRange[]): bigint {
  return ranges.reduce((sum, { start, end }) => sum + (end - start), 0n);
}

/** What lies at or beyond `floor`. */
export function rangesFrom(floor: bigint, ranges: readonly OffsetRange[]): OffsetRange[] {
  return ranges
    .filter(({ end }) => end > floor)
    .map(({ start, end }) => ({ start: start < floor ? floor : start, end }));
}
