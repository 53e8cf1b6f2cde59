/** What the retry queue does when a real Redis is away, silent, or comes back. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../scripts/stack/free-port.ts';
import { type FaultProxy, startProxy } from '../../../scripts/stack/proxy.ts';
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
  recorded,
  recordingLog,
  sorted,
  untilAborted,
  within,
} from './fixture.ts';

const OUTAGE = { failureClass: 'outage', code: 'RETRY_QUEUE_UNAVAILABLE' };
const TEN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

describe('Redis that goes and comes back', () => {
  const redis = useRedis({ appendonly: true });

  it('down at the hand-over: an outage within bounds; back again: acknowledged, each once', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    await queue.handOver([entryOf(topic, 0)]);
    await redis().kill('SIGKILL');
    await expect(within(BOUND_MS, queue.handOver(entriesOf(topic, TEN)))).rejects.toMatchObject(OUTAGE);
    expect(await queue.counts()).toBeUndefined();
    await redis().restart();
    await expect.poll(() => isAcknowledged(queue.handOver(entriesOf(topic, TEN))), PATIENCE).toBe(true);
    const { offsets, run } = recorded(() => DONE);
    await queue.start(run);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
    expect(sorted(offsets())).toEqual(TEN);
  });

  it('restarted while jobs wait: all run afterwards, without any help (R05)', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, backoff: { baseMs: 3_000, maxMs: 3_000 } });
    const { offsets, run } = recorded(() => DONE);
    await queue.start(run);
    await queue.handOver(entriesOf(topic, TEN));
    await redis().kill('SIGKILL');
    await sleep(500);
    await redis().restart();
    await expect.poll(() => sorted(offsets()), PATIENCE).toEqual(TEN);
  });

  it('killed while jobs run: what became of them is written down when it is back', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, concurrency: 16 });
    await queue.handOver(entriesOf(topic, TEN));
    let goOn = (): void => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { runs, run } = recorded(() => held.then(() => DONE));
    await queue.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(10);
    await redis().kill('SIGKILL');
    goOn();
    await sleep(1_500);
    await redis().restart();
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
    expect(runs.length).toBe(10);
  });

  it('frozen: the hand-over ends as an outage at its limit, and a caller who gives up is answered at once', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, commandTimeoutMs: 1_000 });
    await queue.handOver([entryOf(topic, 0)]);
    await redis().kill('SIGSTOP');
    try {
      await expect(within(BOUND_MS, queue.handOver(entriesOf(topic, TEN)))).rejects.toMatchObject(OUTAGE);
      const givenUp = queue.handOver(entriesOf(topic, TEN), AbortSignal.timeout(50));
      await expect(within(BOUND_MS, givenUp)).rejects.toMatchObject(OUTAGE);
    } finally {
      await redis().kill('SIGCONT');
    }
    await expect.poll(() => isAcknowledged(queue.handOver(entriesOf(topic, TEN))), PATIENCE).toBe(true);
    const { offsets, run } = recorded(() => DONE);
    await queue.start(run);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
    expect(sorted(offsets())).toEqual(TEN);
  });

  it('closes with Redis killed after the start, while a job runs (R06)', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    await queue.handOver([entryOf(topic, 1)]);
    const { runs, run } = recorded((_job, signal) => untilAborted(signal));
    await queue.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
    await redis().kill('SIGKILL');
    await within(BOUND_MS, queue.close(AbortSignal.timeout(500)));
    await redis().restart();
  });
});

describe('Redis that is not there', () => {
  it('start waits for it in the background, hand-over is an outage, close returns (R06)', async () => {
    const log = recordingLog();
    const topic = freshTopic();
    const url = `redis://127.0.0.1:${await freePort()}`;
    const queue = openQueue(topic, { url, log, connectTimeoutMs: 500 });
    const { run } = recorded(() => DONE);
    await within(BOUND_MS, queue.start(run));
    expect(log.lines.join('\n')).toContain('waiting for the Redis of retries');
    await expect(within(BOUND_MS, queue.handOver([entryOf(topic, 1)]))).rejects.toMatchObject(OUTAGE);
    expect(await queue.counts()).toBeUndefined();
    await within(BOUND_MS, queue.close());
  });
});

describe('a network that is silent', () => {
  const redis = useRedis();
  let proxy: FaultProxy | undefined;
  afterEach(() => proxy?.close());

  it('black-holed: hand-over is an outage, close returns, and another worker takes over what was running', async () => {
    proxy = await startProxy({ target: { port: redis().port } });
    const topic = freshTopic();
    const queue = openQueue(topic, { url: `redis://${proxy.address}`, commandTimeoutMs: 1_000, lockMs: 2_000 });
    await queue.handOver([entryOf(topic, 1)]);
    const { runs, run } = recorded((_job, signal) => untilAborted(signal));
    await queue.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
    proxy.blackhole();
    await expect(within(BOUND_MS, queue.handOver([entryOf(topic, 2)]))).rejects.toMatchObject(OUTAGE);
    await within(BOUND_MS, queue.close(AbortSignal.timeout(500)));
    const other = openQueue(topic, { url: redis().url, lockMs: 2_000 });
    const after = recorded(() => DONE);
    await other.start(after.run);
    await expect.poll(() => after.offsets(), PATIENCE).toContain(1);
    expect(after.runs.map(({ job }) => job.attempt)).toContain(2);
  });

  it('black-holed for longer than the lock: the job is run by another, and the late result changes nothing', async () => {
    proxy = await startProxy({ target: { port: redis().port } });
    const topic = freshTopic();
    const options = { commandTimeoutMs: 500, lockMs: 1_500, backoff: { baseMs: 50, maxMs: 60_000 } };
    const first = openQueue(topic, { url: `redis://${proxy.address}`, ...options });
    let goOn = (): void => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { runs, run } = recorded(() => held.then(() => AGAIN));
    await first.start(run);
    await first.handOver([entryOf(topic, 1)]);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
    proxy.blackhole();
    const second = openQueue(topic, { url: redis().url, ...options });
    const after = recorded(() => DONE);
    await second.start(after.run);
    await expect.poll(() => after.offsets(), PATIENCE).toEqual([1]);
    await proxy.restore();
    goOn();
    await sleep(1_500);
    expect(await second.counts()).toEqual(EMPTY);
  });
});
