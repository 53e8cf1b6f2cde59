/** Waits that end: kafkajs has calls that may never answer (stop during a rebalance, a silent broker). */
import { ServingError } from '../errors.ts';

/** The promise, or KAFKA_UNAVAILABLE after `timeoutMs`. What the promise does later is ignored. */
export async function settledWithin<T>(promise: Promise<T>, timeoutMs: number, doing: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ServingError('KAFKA_UNAVAILABLE', `cannot ${doing}: no answer in ${timeoutMs} ms`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Aborts after the time, or with the given signal. */
export function abortedAfter(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}
