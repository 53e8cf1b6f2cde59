/**
 * Keeps kafkajs 2.2.4 from waking up every millisecond.
 *
 * `RequestQueue.scheduleCheckPendingRequests` sets a timer even when nothing is pending: its delay is `throttledUntil` (−1
 * unless the broker throttles) minus now, a negative number that Node runs as 1 ms, and the timer sets itself again. That is
 * a busy loop for each connection, and from Node 24 on a TimeoutNegativeWarning too (tulios/kafkajs#1751, not released).
 * With nothing pending there is nothing to check, so the guard returns; whatever is pushed later schedules its own check.
 */
import { createRequire } from 'node:module';

type RequestQueue = { readonly pending: readonly unknown[]; scheduleCheckPendingRequests(): void };

const GUARDED = Symbol('rag-serving: kafkajs timer guard');

/** Once a process; does nothing for a kafkajs that is laid out differently. Says whether the guard is in place. */
export function guardKafkaTimers(): boolean {
  const prototype = requestQueuePrototype();
  const original = prototype?.scheduleCheckPendingRequests;
  if (prototype === undefined || typeof original !== 'function') return false;
  if (GUARDED in original) return true;
  const guarded = function (this: RequestQueue): void {
    if (this.pending.length > 0) original.call(this);
  };
  prototype.scheduleCheckPendingRequests = Object.assign(guarded, { [GUARDED]: true });
  return true;
}

function requestQueuePrototype(): RequestQueue | undefined {
  try {
    const queue: unknown = createRequire(import.meta.url)('kafkajs/src/network/requestQueue');
    return typeof queue === 'function' ? (queue.prototype as RequestQueue) : undefined;
  } catch {
    return undefined;
  }
}
