/** The retry queue as its operators see it, on a real Redis, beside workers that run it. */
import { afterEach, describe, expect, it } from 'vitest';
import { createBullmqRetryAdmin } from '../../../src/retry/bullmq-retry-admin.ts';
import type { RetryAdmin, WaitingRetry } from '../../../src/retry/retry-admin.ts';
import { useRedis } from '../../support/stack.ts';
import {
  AGAIN,
  BOUND_MS,
  DONE,
  EMPTY,
  entriesOf,
  entryOf,
  freshTopic,
  openQueue,
  PATIENCE,
  plainClient,
  recorded,
  recordingLog,
  sorted,
  untilAborted,
  within,
} from './fixture.ts';

const redis = useRedis();
const opened = new Set<RetryAdmin>();

afterEach(async () => {
  await Promise.all([...opened].map((admin) => admin.close()));
  opened.clear();
});

function openAdmin(topic: string, url = redis().url): RetryAdmin {
  const admin = createBullmqRetryAdmin({
    redis: { url, tlsCa: undefined, connectTimeoutMs: 2_000, commandTimeoutMs: 2_000 },
    keyPrefix: 'retry-test',
    identity: { consumerGroup: 'group', topic, collection: 'memory' },
    log: recordingLog(),
  });
  opened.add(admin);
  return admin;
}

async function all(admin: RetryAdmin): Promise<readonly WaitingRetry[]> {
  const found: WaitingRetry[] = [];
  for await (const retry of admin.list()) found.push(retry);
  return found;
}

const patient = { backoff: { baseMs: 60_000, maxMs: 60_000 }, concurrency: 1 };

describe('an operator of the retry queue', () => {
  it('sees what waits, where from, why and until when; an empty queue is empty', async () => {
    const topic = freshTopic();
    const admin = openAdmin(topic);
    expect(await all(admin)).toEqual([]);
    const before = Date.now();
    await openQueue(topic, { url: redis().url, ...patient }).handOver([entryOf(topic, 7, { index: 2, attempts: 3 })]);
    const [retry] = await all(admin);
    expect(retry).toMatchObject({
      ...{ state: 'delayed', source: { topic, partition: 0, offset: 7n }, index: 2, attempts: 3 },
      ...{ code: 'INFERENCE_REJECTED', stage: 'embed', message: { key: Buffer.from('key-7') } },
    });
    expect(retry?.dueAtMs).toBeGreaterThan(before + 25_000);
    expect(retry?.dueAtMs).toBeLessThan(Date.now() + 61_000);
  });

  it('knows no content where only the origin was kept', async () => {
    const topic = freshTopic();
    await openQueue(topic, { url: redis().url, ...patient, payload: 'origin' }).handOver([entryOf(topic, 1)]);
    expect(await all(openAdmin(topic))).toMatchObject([{ source: { offset: 1n }, message: undefined }]);
  });

  it('looking leaves nothing behind in Redis', async () => {
    const topic = freshTopic();
    await all(openAdmin(topic));
    const client = plainClient(redis().url);
    expect(await client.keys(`*${topic}*`)).toEqual([]);
    client.disconnect();
  });

  it('makes a retry due at once: a running worker takes it, and the attempt counts', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, ...patient });
    const runs = recorded(() => AGAIN);
    await queue.start(runs.run);
    await queue.handOver(entriesOf(topic, [1, 2]));
    const admin = openAdmin(topic);
    const [first] = (await all(admin)).filter(({ source }) => source?.offset === 1n);
    expect(await admin.runNow(first?.id ?? '')).toBe('done');
    await expect.poll(() => runs.offsets(), PATIENCE).toEqual([1]);
    await expect.poll(async () => (await all(admin)).find(({ id }) => id === first?.id)?.attempts, PATIENCE).toBe(2);
    expect(await queue.counts()).toEqual({ ...EMPTY, delayed: 2 });
  });

  it('drops a retry for good, but not one that a worker runs, and says what had ended', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, backoff: { baseMs: 1, maxMs: 60_000 }, concurrency: 1 });
    const runs = recorded((_, signal) => untilAborted(signal));
    await queue.start(runs.run);
    await queue.handOver(entriesOf(topic, [1]));
    await expect.poll(() => runs.offsets(), PATIENCE).toEqual([1]);
    await queue.handOver(entriesOf(topic, [2]));
    const admin = openAdmin(topic);
    const [running, waits] = await all(admin);
    expect(running).toMatchObject({ state: 'active', source: { offset: 1n } });
    expect(await admin.drop(running?.id ?? '')).toBe('busy');
    expect(await admin.runNow(running?.id ?? '')).toBe('busy');
    expect(await admin.drop(waits?.id ?? '')).toBe('done');
    expect(await admin.drop(waits?.id ?? '')).toBe('gone');
    expect(await admin.runNow(waits?.id ?? '')).toBe('gone');
    expect(await all(admin)).toHaveLength(1);
  });

  it('beside workers that take what it drops and hastens: each chunk is run, or dropped, and none is both or neither', async () => {
    const topic = freshTopic();
    const offsets = Array.from({ length: 300 }, (_, n) => n);
    const queue = openQueue(topic, { url: redis().url, backoff: { baseMs: 1, maxMs: 1 }, concurrency: 8 });
    await queue.handOver(entriesOf(topic, offsets));
    const admin = openAdmin(topic);
    const retries = await all(admin);
    const runs = recorded(() => DONE);
    await queue.start(runs.run);
    const dropped: number[] = [];
    for (const { id, source } of [...retries].reverse()) {
      const offset = Number(source?.offset);
      if (offset % 2 === 0 ? (await admin.drop(id)) === 'done' : (await admin.runNow(id)) === undefined)
        dropped.push(offset);
    }
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
    expect(dropped.length).toBeGreaterThan(0);
    expect(sorted([...runs.offsets(), ...dropped])).toEqual(offsets);
  });

  it('a Redis that is away, or refuses, is one error within its time limit', async () => {
    const away = within(BOUND_MS, all(openAdmin(freshTopic(), 'redis://127.0.0.1:1')));
    await expect(away).rejects.toMatchObject({
      code: 'RETRY_QUEUE_UNAVAILABLE',
      message: expect.stringContaining('127.0.0.1:1'),
    });
    const wrong = redis().url.replace('redis://', 'redis://nobody:pw-SENTINEL@');
    const refused = within(BOUND_MS, all(openAdmin(freshTopic(), wrong)));
    await expect(refused).rejects.toMatchObject({ code: 'RETRY_QUEUE_ACCESS_DENIED' });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('SENTINEL') });
  });
});
