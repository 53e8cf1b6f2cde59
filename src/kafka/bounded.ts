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
