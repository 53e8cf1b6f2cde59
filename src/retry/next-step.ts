/**
 * What becomes of a job after a run; pure. Nothing here drops a job: it goes because its run said `done`, and what cannot be
 * brought to an end stays, at the longest wait.
 *
 * A verdict `again` is about the chunk, and counts. A run that fails without a verdict counts when the error is of class
 * `chunk` or a bug of ours; an outage or a wrong setting would otherwise use the attempts up and send good chunks to the dead
 * letters.
 */
import type { ErrorCode, ServingError } from '../errors.ts';
import { type BackoffPolicy, backoffMs } from '../resilience/backoff.ts';
import type { RetryVerdict } from './retry-queue.ts';

export type Attempts = {
  /** Made before the hand-over. */
  readonly before: number;
  /** Counted since. */
  readonly since: number;
  readonly limit: number;
};

/** How a run ended: with a verdict, or without one. */
export type RunEnd = RetryVerdict | { readonly kind: 'failed'; readonly error: ServingError };

export type NextStep =
  | { readonly kind: 'remove' }
  | { readonly kind: 'release' }
  /** `attempt` names what the attempt failed of; undefined when it does not count as one. */
  | { readonly kind: 'delay'; readonly delayMs: number; readonly attempt: ErrorCode | undefined };

/** The attempt that is about to be made. */
export function attemptOf({ before, since, limit }: Attempts): { readonly attempt: number; readonly last: boolean } {
  const attempt = before + since + 1;
  return { attempt, last: attempt >= limit };
}

/** @param random in [0, 1) */
export function nextStep(end: RunEnd, attempts: Attempts, policy: BackoffPolicy, random: number): NextStep {
  switch (end.kind) {
    case 'done':
      return { kind: 'remove' };
    case 'abandoned':
      return { kind: 'release' };
    case 'again':
    case 'failed': {
      const { error } = end;
      const counts = end.kind === 'again' || error.failureClass === 'chunk' || error.code === 'INTERNAL';
      // The first wait was that of the hand-over.
      const delayMs =
        counts && attemptOf(attempts).last
          ? longestWaitMs(policy, random)
          : backoffMs(attempts.since + (counts ? 2 : 1), policy, random);
      return { kind: 'delay', delayMs, attempt: counts ? error.code : undefined };
    }
  }
}

export function longestWaitMs({ maxMs }: BackoffPolicy, random: number): number {
  return backoffMs(1, { baseMs: maxMs, maxMs }, random);
}
