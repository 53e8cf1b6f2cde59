/**
 * What to do about a failed attempt. Pure: the tables of this file are the whole policy.
 *
 * Surprising: three codes can be either side's fault. A model answers INTERNAL both to a text that it cannot digest and
 * when its GPU is out of memory; and a connection that breaks or an answer that stays away can be the work of a text that
 * crashes or stalls the server. So an error alone blames nobody: rows are taken apart (`isolate`, `smaller`) or the other
 * side is asked about a text that is known to be good (`suspect`, `doubt`), and what that shows decides.
 */
import type { ErrorCode, FailureClass, ServingError } from '../errors.ts';
import { type BackoffPolicy, backoffMs } from '../resilience/backoff.ts';

export type FailurePolicy = {
  readonly outageBackoff: BackoffPolicy;
  readonly backpressureBackoff: BackoffPolicy;
  /** Lost connections or missed deadlines of the same rows before the other side is asked whether it is well. */
  readonly attemptsBeforeDoubt: number;
  /** How often the same rows must have failed beside a sound other side until they are blamed. */
  readonly strikes: number;
  /** Answers in a row that no protocol allows, of a server that has all the same kept its contract before. */
  readonly oddAnswersToStop: number;
};

export const defaultFailurePolicy: FailurePolicy = {
  outageBackoff: { baseMs: 200, maxMs: 5_000 },
  backpressureBackoff: { baseMs: 50, maxMs: 2_000 },
  attemptsBeforeDoubt: 3,
  strikes: 2,
  oddAnswersToStop: 4,
};

export type Decision =
  /** The same rows again after a wait, for as long as it takes. */
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** Fewer rows a call, now: all of them take longer than a call may. */
  | { readonly kind: 'smaller' }
  /** One of several rows is at fault: halve and try each half. */
  | { readonly kind: 'isolate' }
  /** The only row seems to be at fault: look at the other side, and blame the row if that is sound. */
  | { readonly kind: 'suspect' }
  /** Either side can be at fault: wait until the other side is sound, then try the same rows again. */
  | { readonly kind: 'doubt' }
  /** Nothing that waits or splits will help. */
  | { readonly kind: 'stop' };

export type Attempt = {
  /** 1 for the first. */
  readonly number: number;
  readonly rows: number;
  /** The rows are part of others that failed beside a sound other side. */
  readonly suspicious: boolean;
  /** How many of the last attempts in a row, this one included, ended in an odd answer. */
  readonly oddAnswers: number;
};

type Verdict = 'wait' | 'slow-down' | 'split' | 'shrink' | 'doubt' | 'insist' | 'stop';

const BY_CLASS = {
  backpressure: 'slow-down',
  outage: 'wait',
  chunk: 'split',
  fatal: 'stop',
  caller: 'stop',
} as const satisfies Record<FailureClass, Verdict>;

/** Where the class does not say enough. */
const BY_CODE: Partial<Record<ErrorCode, Verdict>> = {
  INFERENCE_FAILED: 'split',
  INFERENCE_DEADLINE: 'shrink',
  INFERENCE_UNAVAILABLE: 'doubt',
  // A cancelled call that our own signal did not cancel: the server went away in the middle of it.
  INFERENCE_CANCELLED: 'doubt',
  // A server that goes down confuses the answers of its calls: a process that was frozen gives one to whoever asks next.
  INFERENCE_RESPONSE_INVALID: 'insist',
  SHM_INVALID: 'insist',
};

/** It does not fit what was asked. Once, that says little; every time, the model is another one than it was. */
export function isOddAnswer({ code }: ServingError): boolean {
  return BY_CODE[code] === 'insist';
}

/** @param random in [0, 1) */
export function decide(error: ServingError, attempt: Attempt, policy: FailurePolicy, random: number): Decision {
  const again = (backoff: BackoffPolicy): Decision => ({
    kind: 'retry',
    delayMs: Math.max(retryInMs(error), backoffMs(attempt.number, backoff, random)),
  });
  const doubt = (): Decision =>
    // A single row is blamed by this, so it gets all its attempts; rows that are only taken apart need not.
    (attempt.suspicious && attempt.rows > 1) || attempt.number >= policy.attemptsBeforeDoubt
      ? { kind: 'doubt' }
      : again(policy.outageBackoff);
  switch (BY_CODE[error.code] ?? BY_CLASS[error.failureClass]) {
    case 'slow-down':
      return again(policy.backpressureBackoff);
    case 'wait':
      return again(policy.outageBackoff);
    case 'split':
      return { kind: attempt.rows > 1 ? 'isolate' : 'suspect' };
    case 'shrink':
      return attempt.rows > 1 ? { kind: 'smaller' } : doubt();
    case 'doubt':
      return doubt();
    case 'insist':
      return attempt.oddAnswers < policy.oddAnswersToStop ? again(policy.outageBackoff) : { kind: 'stop' };
    case 'stop':
      return { kind: 'stop' };
  }
}

/** An open breaker says when it is worth asking again. */
function retryInMs({ code, details }: ServingError): number {
  return code === 'BREAKER_OPEN' && typeof details.retryInMs === 'number' ? details.retryInMs : 0;
}
