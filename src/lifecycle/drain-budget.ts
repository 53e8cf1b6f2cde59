/**
 * How long a drain may take and how much of it is for work in flight. With a notice it is the time that the cloud leaves,
 * less a safety margin; a stop asked for by a signal has its timeout. Both at once: the shorter one.
 *
 * A part is kept back for the commit and the farewells. What would be stored only after that is not begun: it stays
 * uncommitted, and another worker has it sooner.
 */
import type { Pace } from './pace.ts';

export type DrainRequest = {
  /** Until the machine may be gone; undefined without a notice, or when the notice does not say. */
  readonly leftMs: number | undefined;
  readonly marginMs: number;
  /** Bound of a drain that a signal asked for; undefined when none did and the notice alone counts. */
  readonly timeoutMs: number | undefined;
};

/** What a drain always gets, however late the notice: enough to commit what is stored. */
const LEAST_MS = 1_000;
const KEPT_SHARE = 0.25;
const KEPT_AT_MOST_MS = 6_250;
/** Leaving the group, closing the store, unlinking shared memory. */
const FAREWELL_MS = 750;
/** A commit that has to be sent again once, and one that is slower than usual. */
const COMMITS = 3;

export function drainBudgetMs({ leftMs, marginMs, timeoutMs }: DrainRequest): number {
  // A margin as long as the notice must not eat all of it.
  const noticed = leftMs === undefined ? Number.POSITIVE_INFINITY : Math.max(leftMs - marginMs, leftMs / 2);
  return Math.max(LEAST_MS, Math.min(noticed, timeoutMs ?? Number.POSITIVE_INFINITY));
}

/** Of a budget, what work in flight must leave: a quarter but no more than some seconds, and enough for slow commits; never over half. */
export function keptForFarewellMs(budgetMs: number, { commitMs = 0 }: Pace): number {
  const needed = FAREWELL_MS + COMMITS * commitMs;
  return Math.min(budgetMs / 2, Math.max(needed, Math.min(budgetMs * KEPT_SHARE, KEPT_AT_MOST_MS)));
}

/**
 * Whether a call that begins now is likely to be stored in time. Without a measurement it is tried: what comes too late
 * costs no more than what was never begun.
 *
 * @param limitAtMs when work in flight must have ended
 */
export function fitsBefore(limitAtMs: number, nowMs: number, { batchMs = 0, storeMs = 0 }: Pace): boolean {
  return nowMs + batchMs + storeMs < limitAtMs;
}
