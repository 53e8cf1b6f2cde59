/**
 * What to do about a failed attempt, from the error's class alone. Pure: the table of this file is the whole policy.
 *
 * An outage is retried for as long as it lasts and never sends a chunk to the dead letters. `INFERENCE_FAILED` (gRPC
 * INTERNAL) can be either side's fault: after a few attempts the batch is taken apart, and a single chunk is blamed
 * only if the engine still answers for a text that is known to be good (`suspect`).
 */
import type { ServingError } from '../errors.ts';
import { type BackoffPolicy, backoffMs } from '../resilience/backoff.ts';

export type FailurePolicy = {
  readonly outageBackoff: BackoffPolicy;
  readonly backpressureBackoff: BackoffPolicy;
  /** Attempts at a batch that the engine fails with INTERNAL before it is taken apart. */
  readonly attemptsBeforeIsolation: number;
};

export const defaultFailurePolicy: FailurePolicy = {
  outageBackoff: { baseMs: 200, maxMs: 5_000 },
  backpressureBackoff: { baseMs: 50, maxMs: 2_000 },
  attemptsBeforeIsolation: 3,
};

export type Decision =
  /** The same rows again after a wait. */
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** One of several rows is at fault: halve and try each half. */
  | { readonly kind: 'isolate' }
  /** The only row seems to be at fault: check the other side first, then dead-letter it. */
  | { readonly kind: 'suspect' }
  /** Nothing that waits or splits will help. */
  | { readonly kind: 'stop' };

/** @param attempt 1 for the first; @param rows rows in the attempt; @param random in [0, 1) */
export function decide(
  error: ServingError,
  attempt: number,
  rows: number,
  policy: FailurePolicy,
  random: number,
): Decision {
  const blame: Decision = rows > 1 ? { kind: 'isolate' } : { kind: 'suspect' };
  switch (error.failureClass) {
    case 'backpressure':
      return { kind: 'retry', delayMs: backoffMs(attempt, policy.backpressureBackoff, random) };
    case 'outage':
      if (error.code === 'INFERENCE_FAILED' && attempt >= policy.attemptsBeforeIsolation) return blame;
      return { kind: 'retry', delayMs: backoffMs(attempt, policy.outageBackoff, random) };
    case 'chunk':
      return blame;
    // A cancelled call that our own signal did not cancel: the server went away in the middle of it.
    case 'caller':
      return error.code === 'INFERENCE_CANCELLED'
        ? { kind: 'retry', delayMs: backoffMs(attempt, policy.outageBackoff, random) }
        : { kind: 'stop' };
    case 'fatal':
      return { kind: 'stop' };
  }
}
