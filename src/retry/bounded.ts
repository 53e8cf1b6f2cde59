/** A wait on Redis that always ends. Giving up does not stop Redis: what was asked for may still happen. */
import { boundedWait } from '../bounded-wait.ts';
import { ServingError } from '../errors.ts';

export function within<T>(work: Promise<T>, maxWaitMs: number, doing: string, signal?: AbortSignal): Promise<T> {
  return boundedWait(work, { maxWaitMs, signal }, (end) => {
    const why = end === 'timeout' ? `no answer within ${maxWaitMs} ms` : 'the caller stopped waiting';
    return new ServingError('RETRY_QUEUE_UNAVAILABLE', `cannot ${doing}: ${why}; whether it still happens is unknown`);
  });
}
