/**
 * When to compact; pure.
 *
 * Each commit leaves a fragment and slows down what follows, and LanceDB's compaction rewrites the whole table until
 * fragments hold a million rows. So it waits for enough commits, and never takes more than a fifth of the time.
 */
export type CompactionState = {
  readonly commitsSince: number;
  readonly lastEndedAtMs: number;
  readonly lastDurationMs: number;
};

const REST_FACTOR = 4;
const LANE_SHARE = 1 / 3;

export function isCompactionDue(state: CompactionState, compactAfterCommits: number, nowMs: number): boolean {
  if (state.commitsSince < compactAfterCommits) return false;
  return nowMs - state.lastEndedAtMs >= state.lastDurationMs * REST_FACTOR;
}

/** How long a compaction may hold writes up: well below the wait after which they count as failed. */
export function laneLimitMs(writeTimeoutMs: number): number {
  return writeTimeoutMs * LANE_SHARE;
}
