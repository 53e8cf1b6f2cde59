/**
 * How long a call may take. Every call has an absolute deadline on a clock that never jumps; whatever is set in wall time
 * is turned into it at once, so a step of the system's clock moves no deadline.
 */
import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events';
import type { Clock } from '../src/clock.ts';
import { ServingError } from '../src/errors.ts';
import type { Span } from '../src/telemetry/tracing.ts';

export type CallLimits = {
  /** When the call must have ended: a number on the clock of `performance.now()`, or a Date. One that is past costs no call. */
  readonly deadline?: number | Date | undefined;
  /** Milliseconds from now, > 0. With a deadline as well, the earlier of the two holds. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** W3C trace context of the caller, handed on to the model server. What is none is left out. */
  readonly traceparent?: string | undefined;
};

export type Budget = {
  /** On the clock of `performance.now()`. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
  readonly traceparent: string | undefined;
  /** Where the host traces: what the requests hang under. */
  readonly span?: Span | undefined;
  /** Other calls that the same request serves. */
  readonly alsoFor?: readonly Span[];
};

/** Further away than this, it is a mistake: most often a number of another clock. */
const LONGEST_MS = 600_000;
const LISTENERS = 10_000;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Throws ARGUMENT_INVALID for a limit that is no time, and INFERENCE_CANCELLED for a signal that has fired. */
export function budgetOf(limits: CallLimits, defaultMs: number, clock: Clock, span?: Span): Budget {
  const nowMs = clock.monotonicMs();
  const { deadline, timeoutMs, signal } = limits;
  if (signal !== undefined) {
    if (signal.aborted) throw cancelled(signal);
    expectMany(signal);
  }
  const ends: number[] = [];
  if (timeoutMs !== undefined) {
    if (!(timeoutMs > 0 && timeoutMs <= LONGEST_MS)) {
      throw invalid(`timeoutMs must be > 0 and ≤ ${LONGEST_MS}, not ${String(timeoutMs)}`);
    }
    ends.push(nowMs + timeoutMs);
  }
  if (deadline !== undefined) ends.push(onOurClock(deadline, nowMs, clock));
  return {
    deadlineMs: ends.length === 0 ? nowMs + defaultMs : Math.min(...ends),
    signal,
    traceparent: givenTraceparent(limits),
    span,
  };
}

export function givenTraceparent({ traceparent }: CallLimits): string | undefined {
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

/** A part of a budget: it ends after `ms`, or with the whole. */
export function partOf(budget: Budget, ms: number, nowMs: number): Budget {
  return { ...budget, deadlineMs: Math.min(budget.deadlineMs, nowMs + ms) };
}

export function cancelled(signal: AbortSignal): ServingError {
  return new ServingError('INFERENCE_CANCELLED', 'the call was cancelled by its caller', { cause: signal.reason });
}

/** A host may give one signal to all its searches: each listens while it lasts, and Node would call more than ten a leak. */
function expectMany(signal: AbortSignal): void {
  if (getMaxListeners(signal) === defaultMaxListeners) setMaxListeners(LISTENERS, signal);
}

function onOurClock(deadline: number | Date, nowMs: number, clock: Clock): number {
  const endMs = deadline instanceof Date ? nowMs + deadline.getTime() - clock.wallMs() : deadline;
  if (typeof endMs !== 'number' || Number.isNaN(endMs)) throw invalid('deadline must be a number or a valid Date');
  if (endMs - nowMs > LONGEST_MS) {
    throw invalid(
      `deadline lies more than ${LONGEST_MS} ms ahead: a number is on the clock of performance.now(); for wall time pass a Date`,
    );
  }
  return endMs;
}

function invalid(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
