/** Waits that end: kafkajs has calls that may never answer (stop during a rebalance, a silent broker). */
import { boundedWait } from '../bounded-wait.ts';
import { ServingError } from '../errors.ts';

/** The promise, or KAFKA_UNAVAILABLE after `timeoutMs`. What the promise does later is ignored. */
export function settledWithin<T>(promise: Promise<T>, timeoutMs: number, doing: string): Promise<T> {
  const late = () => new ServingError('KAFKA_UNAVAILABLE', `cannot ${doing}: no answer in ${timeoutMs} ms`);
  return boundedWait(promise, { maxWaitMs: timeoutMs }, late);
}

/** Aborts after the time, or with the given signal. */
export function abortedAfter(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}
