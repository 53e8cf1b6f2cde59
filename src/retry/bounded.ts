/** A wait on Redis that always ends. Giving up does not stop Redis: what was asked for may still happen. */
import { ServingError } from '../errors.ts';

export async function within<T>(work: Promise<T>, maxWaitMs: number, doing: string, signal?: AbortSignal): Promise<T> {
  let stopWaiting = (): void => {};
  const givenUp = new Promise<never>((_, reject) => {
    const giveUp = (why: string) =>
      reject(
        new ServingError('RETRY_QUEUE_UNAVAILABLE', `cannot ${doing}: ${why}; whether it still happens is unknown`),
      );
    const onAbort = () => giveUp('the caller stopped waiting');
    const timer = setTimeout(() => giveUp(`no answer within ${maxWaitMs} ms`), maxWaitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, givenUp]);
  } finally {
    stopWaiting();
  }
}
