/**
 * A wait on a store that always ends: with its answer, at a limit, or when the caller gives up.
 *
 * Giving up does not stop the store: the write may still happen. That is why it counts as an outage, not as a failure
 * of the row, and why writes are idempotent.
 */
import { ServingError } from '../errors.ts';

export function bounded<T>(work: Promise<T>, maxWaitMs: number, what: string, signal?: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const giveUp = (why: string) => {
      stopWaiting();
      reject(new ServingError('SINK_UNAVAILABLE', `${what}: ${why}; whether it still happens is unknown`));
    };
    const onAbort = () => giveUp('the caller stopped waiting');
    const timer = setTimeout(() => giveUp(`no answer within ${maxWaitMs} ms`), maxWaitMs);
    const stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    work.finally(stopWaiting).then(resolve, reject);
  });
}

/** Throws when the caller has given up already, so that nothing is sent in vain. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted)
    throw new ServingError('SINK_UNAVAILABLE', `${what}: the caller stopped waiting before it began`);
}
