/**
 * What becomes of a job after a run; pure. Nothing here drops a job: it goes because its run said `done`, and what cannot be
 * brought to an end stays, at the longest wait.
 *
 * An attempt counts when it says something about the chunk: an error of class `chunk`, or a bug of ours. An outage or a wrong
 * setting that lasts for hours would otherwise use the attempts up and send good chunks to the dead letters.
 */
import type { ErrorCode } from '../errors.ts';
import { type BackoffPolicy, backoffMs } from '../resilience/backoff.ts';
import type { RetryVerdict } from './retry-queue.ts';

export type Attempts = {
  /** Made before the hand-over. */
  readonly before: number;
  /** Counted since. */
  readonly since: number;
  readonly limit: number;
};

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
export function nextStep(verdict: RetryVerdict, attempts: Attempts, policy: BackoffPolicy, random: number): NextStep {
  switch (verdict.kind) {
    case 'done':
      return { kind: 'remove' };
    case 'abandoned':
      return { kind: 'release' };
    case 'again': {
      const { error } = verdict;
      const counts = error.failureClass === 'chunk' || error.code === 'INTERNAL';
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
