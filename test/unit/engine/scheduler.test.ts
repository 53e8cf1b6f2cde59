import { describe, expect, it } from 'vitest';
import { BatchQueue, type QueuePolicy } from '../../../src/engine/scheduler.ts';

const policy: QueuePolicy = { maxBatch: 8, maxDelayUs: 2_000, maxQueueSize: 0, defaultTimeoutUs: 0 };

function queueOf(overrides: Partial<QueuePolicy> = {}): BatchQueue<string> {
  return new BatchQueue({ ...policy, ...overrides });
}

describe('BatchQueue', () => {
  it('lets the oldest request wait for company until the queue delay has passed', () => {
    const queue = queueOf();
    queue.offer('a', 1, 0, 1_000);
    queue.offer('b', 1, 0, 2_500);
    expect(queue.dueAt()).toBe(3_000);
    expect(queue.take(2_999)).toEqual({ batch: [], expired: [] });
    expect(queue.take(3_000)).toEqual({ batch: ['a', 'b'], expired: [] });
    expect(queue.dueAt()).toBeUndefined();
  });

  it('gives a full batch at once', () => {
    const queue = queueOf();
    queue.offer('a', 5, 0, 0);
    queue.offer('b', 3, 0, 1);
    expect(queue.take(1).batch).toEqual(['a', 'b']);
  });

  it('never splits a request and never lets a small one overtake a big one', () => {
    const queue = queueOf();
    queue.offer('a', 5, 0, 0);
    queue.offer('big', 7, 0, 0);
    queue.offer('small', 1, 0, 0);
    expect(queue.take(0).batch).toEqual(['a']);
    expect(queue.take(0).batch).toEqual(['big', 'small']);
  });

  it('gives a request of exactly the largest batch alone', () => {
    const queue = queueOf();
    queue.offer('all', 8, 0, 0);
    queue.offer('next', 1, 0, 0);
    expect(queue.take(0).batch).toEqual(['all']);
    expect(queue.take(0).batch).toEqual([]);
    expect(queue.take(2_000).batch).toEqual(['next']);
  });

  it('does not hold requests back when the delay is 0', () => {
    const queue = queueOf({ maxDelayUs: 0 });
    queue.offer('a', 1, 0, 10);
    expect(queue.take(10).batch).toEqual(['a']);
  });

  it('refuses a request when the queue is full, and takes the next once there is room', () => {
    const queue = queueOf({ maxQueueSize: 2, maxDelayUs: 0 });
    expect(queue.offer('a', 1, 0, 0)).toBe(true);
    expect(queue.offer('b', 1, 0, 0)).toBe(true);
    expect(queue.offer('c', 1, 0, 0)).toBe(false);
    queue.take(0);
    expect(queue.offer('c', 1, 0, 0)).toBe(true);
    expect(queue.pending).toBe(1);
  });

  it('gives up what waited longer than the default timeout', () => {
    const queue = queueOf({ defaultTimeoutUs: 400 });
    queue.offer('old', 1, 0, 0);
    queue.offer('young', 1, 0, 300);
    expect(queue.take(400)).toEqual({ batch: [], expired: ['old'] });
    expect(queue.pending).toBe(1);
  });

  it("honours a request's own timeout instead of the default", () => {
    const queue = queueOf({ defaultTimeoutUs: 400 });
    queue.offer('patient', 1, 5_000, 0);
    queue.offer('hasty', 1, 100, 0);
    queue.offer('default', 1, 0, 0);
    expect(queue.take(500).expired).toEqual(['hasty', 'default']);
    expect(queue.take(2_000).batch).toEqual(['patient']);
  });

  it('withdraws a request that waits, but none that has been taken', () => {
    const queue = queueOf({ maxDelayUs: 0, maxBatch: 1 });
    queue.offer('a', 1, 0, 0);
    queue.offer('b', 1, 0, 0);
    queue.take(0);
    expect(queue.withdraw('a')).toBe(false);
    expect(queue.withdraw('b')).toBe(true);
    expect(queue.pending).toBe(0);
  });

  it('gives every request exactly once and in order, whatever the sizes', () => {
    const queue = queueOf({ maxDelayUs: 0 });
    const sizes = Array.from({ length: 200 }, (_, i) => 1 + ((i * 7 + (i >> 3)) % 8));
    for (const [i, rows] of sizes.entries()) queue.offer(`${i}`, rows, 0, i);
    const taken: string[] = [];
    for (;;) {
      const { batch } = queue.take(1_000);
      if (batch.length === 0) break;
      expect(batch.reduce((sum, item) => sum + sizes[Number(item)]!, 0)).toBeLessThanOrEqual(8);
      taken.push(...batch);
    }
    expect(taken).toEqual(sizes.map((_, i) => `${i}`));
  });
});
