/** What the retry queue does when a real Redis is full or read-only: nothing is lost, and it is asked at a measured pace. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../../support/stack.ts';
import {
  AGAIN,
  BOUND_MS,
  DONE,
  EMPTY,
  entriesOf,
  entryOf,
  freshTopic,
  isAcknowledged,
  openQueue,
  PATIENCE,
  plainClient,
  recorded,
  sorted,
  within,
} from './fixture.ts';

const redis = useRedis({ args: ['--maxmemory-policy', 'noeviction'] });

describe('Redis that is full', () => {
  it('the hand-over is an outage of its own code; waiting jobs are kept and run once there is room (R04)', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    const client = plainClient(redis().url);
    await queue.handOver(entriesOf(topic, [0, 1, 2, 3, 4]));
    await client.config('SET', 'maxmemory', '1');
    const { offsets, run } = recorded(() => DONE);
    await queue.start(run);
    const five = entriesOf(topic, [5, 6, 7, 8, 9]);
    await expect(within(BOUND_MS, queue.handOver(five))).rejects.toMatchObject({
      failureClass: 'outage',
      code: 'RETRY_QUEUE_FULL',
    });
    await sleep(1_000);
    await client.config('SET', 'maxmemory', '0');
    await queue.handOver(five);
    await expect.poll(() => sorted(new Set(offsets())), PATIENCE).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
  });

  it('full in the middle of a run: the job is neither lost nor stuck', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, lockMs: 2_000, backoff: { baseMs: 50, maxMs: 200 } });
    const client = plainClient(redis().url);
    const { runs, run } = recorded(async () => {
      if (runs.length > 1) return DONE;
      await client.config('SET', 'maxmemory', '1');
      return AGAIN;
    });
    await queue.start(run);
    await queue.handOver([entryOf(topic, 1)]);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
    await sleep(500);
    await client.config('SET', 'maxmemory', '0');
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
    expect(runs.length).toBeGreaterThan(1);
  });
});

describe('Redis that is read-only', () => {
  it('an outage that ends when it is a primary again', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    const client = plainClient(redis().url);
    await queue.handOver([entryOf(topic, 1)]);
    await client.replicaof('127.0.0.1', 1);
    await expect(within(BOUND_MS, queue.handOver([entryOf(topic, 2)]))).rejects.toMatchObject({
      failureClass: 'outage',
      message: expect.stringMatching(/READONLY|MASTERDOWN/),
    });
    const { offsets, run } = recorded(() => DONE);
    await queue.start(run);
    await sleep(300);
    await client.replicaof('NO', 'ONE');
    await expect.poll(() => isAcknowledged(queue.handOver([entryOf(topic, 2)])), PATIENCE).toBe(true);
    await expect.poll(() => sorted(new Set(offsets())), PATIENCE).toEqual([1, 2]);
  });

  it('is connected to anew: its name may stand for another server by now', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    const client = plainClient(redis().url);
    await queue.handOver([entryOf(topic, 1)]);
    const connections = async () => Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1]);
    const before = await connections();
    await client.replicaof('127.0.0.1', 1);
    try {
      await expect(queue.handOver([entryOf(topic, 2)])).rejects.toMatchObject({ failureClass: 'outage' });
      await expect.poll(connections, PATIENCE).toBeGreaterThan(before);
    } finally {
      await client.replicaof('NO', 'ONE');
    }
    await expect.poll(() => isAcknowledged(queue.handOver([entryOf(topic, 2)])), PATIENCE).toBe(true);
  });

  it('is not asked without a pause', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    const client = plainClient(redis().url);
    await queue.handOver([entryOf(topic, 1)]);
    await client.replicaof('127.0.0.1', 1);
    try {
      const { run } = recorded(() => DONE);
      await queue.start(run);
      const calls = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1]);
      const before = await calls();
      await sleep(3_000);
      expect((await calls()) - before).toBeLessThan(60);
    } finally {
      await client.replicaof('NO', 'ONE');
    }
  });
});
