/** The promises of the RetryQueue port, on a real Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { useRedis } from '../../support/stack.ts';
import {
  AGAIN,
  DONE,
  EMPTY,
  entryOf,
  freshTopic,
  openQueue,
  PATIENCE,
  plainClient,
  rawOf,
  recorded,
} from './fixture.ts';

const redis = useRedis({ args: ['--maxmemory-policy', 'noeviction'] });

describe('handing over', () => {
  it('gives the message back byte for byte, with its place in a batch and the attempts made', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
    const raw = rawOf(topic, 7, {
      key: null,
      value: bytes,
      headers: [
        ['__proto__', bytes],
        ['none', null],
      ],
    });
    await queue.handOver([entryOf(topic, 7, { raw, index: 3, attempts: 2 })]);
    const { runs, run } = recorded(() => DONE);
    await queue.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
    const job = runs[0]?.job;
    expect(job).toMatchObject({ index: 3, attempt: 3, last: false, raw: { source: raw.source, key: null } });
    expect(Buffer.from(job?.raw.value ?? [])).toEqual(Buffer.from(bytes));
    expect(job?.raw.headers.map(([name, value]) => [name, value === null ? null : Buffer.from(value)])).toEqual([
      ['__proto__', Buffer.from(bytes)],
      ['none', null],
    ]);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
  });

  it('the same origin twice waits once; each chunk of a batch message for itself', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, backoff: { baseMs: 60_000, maxMs: 60_000 } });
    const batch = [0, 1, 2].map((index) => entryOf(topic, 1, { index }));
    await queue.handOver([...batch, entryOf(topic, 2)]);
    await queue.handOver([...batch, entryOf(topic, 2)]);
    expect(await queue.counts()).toEqual({ delayed: 4, waiting: 0, active: 0 });
  });

  it('a chunk that was done may be handed over again', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    const { runs, run } = recorded(() => DONE);
    await queue.start(run);
    for (const times of [1, 2, 3]) {
      await queue.handOver([entryOf(topic, 5)]);
      await expect.poll(() => runs.length, PATIENCE).toBe(times);
      await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
    }
  });

  it('a topic that was made again has other messages at the same offsets: both run', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    await queue.handOver([entryOf(topic, 0)]);
    await queue.handOver([entryOf(topic, 0, { raw: rawOf(topic, 0, { timestampMs: 1_800_000_000_000 }) })]);
    const { runs, run } = recorded(() => DONE);
    await queue.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(2);
  });

  it('500 chunks at once, in one call, each once', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, concurrency: 32 });
    await queue.handOver(Array.from({ length: 500 }, (_, n) => entryOf(topic, n)));
    const { offsets, run } = recorded(() => DONE);
    await queue.start(run);
    await expect.poll(() => offsets().length, { timeout: 60_000 }).toBe(500);
    expect(new Set(offsets()).size).toBe(500);
  });

  it('works on after the scripts were flushed', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url });
    await queue.handOver([entryOf(topic, 1)]);
    await plainClient(redis().url).script('FLUSH');
    const { offsets, run } = recorded(() => DONE);
    await queue.start(run);
    await expect
      .poll(
        () =>
          queue.handOver([entryOf(topic, 2)]).then(
            () => 'acknowledged',
            () => 'not yet',
          ),
        { timeout: 90_000 },
      )
      .toBe('acknowledged');
    await expect.poll(() => [...offsets()].sort(), PATIENCE).toEqual([1, 2]);
  });
});

describe('attempts and waits', () => {
  it('waits grow, the last attempt is told, and what fails then too is kept', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, maxAttempts: 4, backoff: { baseMs: 400, maxMs: 60_000 } });
    const { runs, run } = recorded(() => AGAIN);
    await queue.start(run);
    const handedOverAt = performance.now();
    await queue.handOver([entryOf(topic, 1)]);
    await expect.poll(() => runs.length, PATIENCE).toBe(3);
    expect(runs.map(({ job: { attempt, last } }) => [attempt, last])).toEqual([
      [2, false],
      [3, false],
      [4, true],
    ]);
    const times = [handedOverAt, ...runs.map(({ atMs }) => atMs)];
    const waits = times.slice(1).map((atMs, n) => atMs - (times[n] ?? 0));
    // Half of each wait is random: 200–400, 400–800, 800–1,600.
    expect(waits[0]).toBeGreaterThan(190);
    expect(waits[1]).toBeGreaterThan(390);
    expect(waits[2]).toBeGreaterThan(790);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual({ delayed: 1, waiting: 0, active: 0 });
  });

  it('a run that fails of an outage does not count as an attempt', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, maxAttempts: 3 });
    const outage = new ServingError('INFERENCE_UNAVAILABLE', 'away');
    const { runs, run } = recorded(() => {
      if (runs.length <= 4) throw outage;
      return DONE;
    });
    await queue.start(run);
    await queue.handOver([entryOf(topic, 1)]);
    await expect.poll(() => runs.length, PATIENCE).toBe(5);
    expect(runs.map(({ job: { attempt, last } }) => [attempt, last])).toEqual(Array(5).fill([2, false]));
  });

  it('a run that throws counts, and the chunk is kept when it throws on the last attempt', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, maxAttempts: 3, backoff: { baseMs: 50, maxMs: 200 } });
    const { runs, run } = recorded(() => {
      if (runs.length < 4) throw new TypeError('a fault of ours');
      return DONE;
    });
    await queue.start(run);
    await queue.handOver([entryOf(topic, 1)]);
    await expect.poll(() => runs.length, PATIENCE).toBe(4);
    expect(runs.map(({ job: { attempt, last } }) => [attempt, last])).toEqual([
      [2, false],
      [3, true],
      [4, true],
      [5, true],
    ]);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
  });

  it('attempts survive a restart: exactly so many in all (K21)', async () => {
    const topic = freshTopic();
    const attempts: number[] = [];
    for (const expected of [2, 3]) {
      const queue = openQueue(topic, { url: redis().url, maxAttempts: 3, backoff: { baseMs: 300, maxMs: 1_000 } });
      if (expected === 2) await queue.handOver([entryOf(topic, 1)]);
      const { runs, run } = recorded(({ last }) => (last ? DONE : AGAIN));
      await queue.start(run);
      await expect.poll(() => runs.length, PATIENCE).toBe(1);
      attempts.push(...runs.map(({ job }) => job.attempt));
      expect(runs[0]?.job.last).toBe(expected === 3);
      await queue.close();
    }
    expect(attempts).toEqual([2, 3]);
    const after = openQueue(topic, { url: redis().url });
    await expect.poll(() => after.counts(), PATIENCE).toEqual(EMPTY);
  });

  it('no more run at once than allowed', async () => {
    const topic = freshTopic();
    const queue = openQueue(topic, { url: redis().url, concurrency: 3 });
    let now = 0;
    let most = 0;
    const { runs, run } = recorded(async () => {
      most = Math.max(most, ++now);
      await sleep(20);
      now--;
      return DONE;
    });
    await queue.handOver(Array.from({ length: 20 }, (_, n) => entryOf(topic, n)));
    await queue.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(20);
    expect(most).toBe(3);
  });
});

describe('stopping', () => {
  it('an abandoned run is run by another worker at once, without counting; this one takes no more', async () => {
    const topic = freshTopic();
    const first = openQueue(topic, { url: redis().url, concurrency: 1 });
    await first.handOver([entryOf(topic, 1), entryOf(topic, 2)]);
    const stopping = recorded(() => ({ kind: 'abandoned' }));
    await first.start(stopping.run);
    await expect.poll(() => stopping.runs.length, PATIENCE).toBe(1);
    await sleep(300);
    expect(stopping.runs.length).toBe(1);
    const second = openQueue(topic, { url: redis().url });
    const { runs, run } = recorded(() => DONE);
    await second.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(2);
    expect(runs.map(({ job }) => job.attempt)).toEqual([2, 2]);
  });

  it('close lets running ones end, then aborts them, and they are run again elsewhere', async () => {
    const topic = freshTopic();
    const first = openQueue(topic, { url: redis().url });
    await first.handOver([entryOf(topic, 1), entryOf(topic, 2)]);
    const { runs, run } = recorded(async ({ raw }, signal) => {
      if (raw.source.offset === 1n) return await sleep(300).then(() => DONE);
      await sleep(60_000, undefined, { signal }).catch(() => undefined);
      return { kind: 'abandoned' };
    });
    await first.start(run);
    await expect.poll(() => runs.length, PATIENCE).toBe(2);
    await first.close(AbortSignal.timeout(1_000));
    const second = openQueue(topic, { url: redis().url });
    const after = recorded(() => DONE);
    await second.start(after.run);
    await expect.poll(() => after.offsets(), PATIENCE).toEqual([2]);
  });

  it('close may be called twice, and before start', async () => {
    const queue = openQueue(freshTopic(), { url: redis().url });
    await Promise.all([queue.close(), queue.close()]);
    await queue.start(() => Promise.resolve(DONE));
  });
});

describe('what may not be mixed', () => {
  it('queues of other groups, topics and collections do not share jobs', async () => {
    const topic = freshTopic();
    const mine = { consumerGroup: 'g', topic, collection: 'redis a' };
    const queue = openQueue(topic, { url: redis().url, identity: mine });
    await queue.handOver([entryOf(topic, 1)]);
    for (const other of [{ consumerGroup: 'h' }, { topic: `${topic}2` }, { collection: 'redis b' }]) {
      const stranger = openQueue(topic, { url: redis().url, identity: { ...mine, ...other } });
      await stranger.start(() => Promise.resolve(DONE));
      await expect.poll(() => stranger.counts(), PATIENCE).toEqual(EMPTY);
    }
    expect((await queue.counts())?.delayed).toBe(1);
  });
});
