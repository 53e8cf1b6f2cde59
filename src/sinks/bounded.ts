/**
 * A wait on a store that always ends: with its answer, at a limit, or when the caller gives up.
 *
 * Giving up does not stop the store: the write may still happen. That is why it counts as an outage, not as a failure
 * of the row, and why writes are idempotent.
 */
import { boundedWait } from '../bounded-wait.ts';
import { ServingError } from '../errors.ts';

export function bounded<T>(work: Promise<T>, maxWaitMs: number, what: string, signal?: AbortSignal): Promise<T> {
  return boundedWait(work, { maxWaitMs, signal }, (end) => {
    const why = end === 'timeout' ? `no answer within ${maxWaitMs} ms` : 'the caller stopped waiting';
    return new ServingError('SINK_UNAVAILABLE', `${what}: ${why}; whether it still happens is unknown`);
  });
}

/** Throws when the caller has given up already, so that nothing is sent in vain. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted)
    throw new ServingError('SINK_UNAVAILABLE', `${what}: the caller stopped waiting before it began`);
}
