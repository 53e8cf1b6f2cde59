/**
 * How large a share of the calls a server gets that is new or has come back: little at first, more with time, then its whole
 * share. Its caches are cold, and all that waited for it would come at once. Pure: whoever asks brings the time.
 *
 * A share is relative: where every server is new, or only one is left, slow start changes nothing.
 */
export type SlowStartPolicy = {
  /** How long it takes to the whole share. */
  readonly windowMs: number;
  /** Where it begins, 0…1. Not 0: a server that is never asked never shows that it is well. */
  readonly leastShare: number;
};

export const defaultSlowStart: SlowStartPolicy = { windowMs: 10_000, leastShare: 0.1 };

/** The share, leastShare…1, so long after the start. */
export function slowStartShare(elapsedMs: number, { windowMs, leastShare }: SlowStartPolicy): number {
  return elapsedMs >= windowMs ? 1 : Math.max(leastShare, elapsedMs / windowMs);
}
