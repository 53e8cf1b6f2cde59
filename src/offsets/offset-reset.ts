/** What a broker's "offset out of range" means: retention deleted what was next, or the log ends before it. */
export type LogBounds = {
  /** First offset that is still there, and the next one that will be written. */
  readonly low: bigint;
  readonly end: bigint;
};

export type OffsetReset =
  /** Offsets from the position to `resumeAt` were deleted before they were read: they are gone. */
  | { readonly kind: 'deleted'; readonly resumeAt: bigint; readonly gone: bigint }
  /** Another log, or one that was cut: nothing known of the old one holds, and all of this one is read. */
  | { readonly kind: 'truncated'; readonly resumeAt: bigint; readonly gone: bigint }
  /** The position lies in the log by now. */
  | { readonly kind: 'none' };

export function offsetReset(position: bigint, { low, end }: LogBounds): OffsetReset {
  if (position < low) return { kind: 'deleted', resumeAt: low, gone: low - position };
  if (position > end) return { kind: 'truncated', resumeAt: low, gone: 0n };
  return { kind: 'none' };
}
