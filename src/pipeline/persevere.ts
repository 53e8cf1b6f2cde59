/**
 * Repeats one call for as long as the failure policy says `retry`, holding back the source meanwhile. Everything
 * else is the caller's to decide: the result says which.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { asServingError, type ServingError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { type Decision, decide, type FailurePolicy, isOddAnswer } from './failure-policy.ts';
import type { Hold, HoldReason, Holds } from './holds.ts';
import type { PipelineObserver, PipelineStage } from './observer.ts';

export type Surroundings = {
  readonly policy: FailurePolicy;
  readonly holds: Holds;
  readonly observer: PipelineObserver;
  readonly log: Log;
  readonly clock: Clock;
};

export type Perseverance<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly attempts: number }
  | { readonly kind: Exclude<Decision['kind'], 'retry'>; readonly error: ServingError; readonly attempts: number };

export type Effort = {
  readonly stage: PipelineStage;
  /** Why fetching is held back while attempts fail; a hold of the caller's own goes on after a decision that is not `ok`. */
  readonly hold: HoldReason | Hold;
  readonly rows: number;
  /** False unless given; see failure-policy.ts. */
  readonly suspicious?: boolean;
};

const FIRST_WARNINGS = 3;

/** Rejects with the signal's reason once it is aborted; never otherwise. */
export async function persevere<T>(
  call: () => Promise<T>,
  { stage, hold, rows, suspicious = false }: Effort,
  { policy, holds, observer, log, clock }: Surroundings,
  signal: AbortSignal,
): Promise<Perseverance<T>> {
  const holding = typeof hold === 'string' ? holds.hold(hold) : hold;
  let oddAnswers = 0;
  try {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      const startedMs = clock.monotonicMs();
      const seconds = () => (clock.monotonicMs() - startedMs) / 1_000;
      try {
        const value = await call();
        observer.attempted(stage, seconds(), undefined);
        holding.leave();
        return { kind: 'ok', value, attempts: attempt };
      } catch (thrown) {
        signal.throwIfAborted();
        const error = asServingError(thrown);
        observer.attempted(stage, seconds(), error);
        oddAnswers = isOddAnswer(error) ? oddAnswers + 1 : 0;
        const decision = decide(error, { number: attempt, rows, suspicious, oddAnswers }, policy, Math.random());
        if (decision.kind !== 'retry') return { kind: decision.kind, error, attempts: attempt };
        // The first few at warning level, then every tenth: an outage of an hour must not flood the log.
        const write = attempt <= FIRST_WARNINGS || attempt % 10 === 0 ? log.warn : log.debug;
        write.call(log, 'attempt failed, will retry', { stage, rows, attempt, code: error.code, error });
        holding.enter();
        await sleep(decision.delayMs, undefined, { signal });
      }
    }
  } finally {
    if (holding !== hold) holding.leave();
  }
}
