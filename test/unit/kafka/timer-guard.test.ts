import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { guardKafkaTimers } from '../../../src/kafka/timer-guard.ts';

type Queue = {
  pending: unknown[];
  throttleCheckTimeoutId: unknown;
  scheduleCheckPendingRequests(): void;
  destroy(): void;
};

function queue(): Queue {
  const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue');
  const logger = { debug: () => {} };
  return new RequestQueue({ maxInFlightRequests: 0, requestTimeout: 1_000, clientId: 'c', broker: 'b', logger });
}

describe('guardKafkaTimers', () => {
  it('sets no timer while nothing is pending, and one while something is', () => {
    expect(guardKafkaTimers()).toBe(true);
    const guarded = queue();
    guarded.scheduleCheckPendingRequests();
    expect(guarded.throttleCheckTimeoutId).toBeNull();
    guarded.pending.push({});
    guarded.scheduleCheckPendingRequests();
    expect(guarded.throttleCheckTimeoutId).not.toBeNull();
    guarded.destroy();
  });

  it('is put in place once', () => {
    guardKafkaTimers();
    const { scheduleCheckPendingRequests } = queue();
    expect(guardKafkaTimers()).toBe(true);
    expect(queue().scheduleCheckPendingRequests).toBe(scheduleCheckPendingRequests);
  });
});
