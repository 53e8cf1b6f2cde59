/** What waits in Redis, and what happens when only the origin was kept. */
import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { useRedis } from '../../support/stack.ts';
import {
  DONE,
  EMPTY,
  entryOf,
  freshTopic,
  openQueue,
  PATIENCE,
  plainClient,
  rawOf,
  recorded,
  recordingLog,
} from './fixture.ts';

const redis = useRedis();

describe('only the origin is kept', () => {
  it('nothing of the message rests in Redis, nor of an error', async () => {
    const topic = freshTopic();
    const raw = rawOf(topic, 1, { value: Buffer.from('SENTINEL'), key: Buffer.from('SENTINEL') });
    const queue = openQueue(topic, {
      url: redis().url,
      payload: 'origin',
      read: () => Promise.resolve(raw),
      backoff: { baseMs: 50, maxMs: 60_000 },
      maxAttempts: 2,
    });
    const { runs, run } = recorded(() => {
      throw new Error('SENTINEL');
    });
    await queue.start(run);
    await queue.handOver([entryOf(topic, 1, { raw })]);
    await expect.poll(() => runs.length, PATIENCE).toBe(1);
    expect(runs[0]?.job.raw).toBe(raw);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual({ delayed: 1, waiting: 0, active: 0 });
    const client = plainClient(redis().url);
    const dumps = await Promise.all((await client.keys('retry-test:*')).map((key) => client.dump(key)));
    const hashes = await Promise.all((await client.keys(`retry-test:*${topic}-0-*`)).map((key) => client.hgetall(key)));
    expect(hashes.length).toBe(1);
    expect(JSON.stringify([dumps, hashes])).not.toMatch(
      new RegExp(`SENTINEL|${Buffer.from('SENTINEL').toString('base64')}`),
    );
  });

  it('a message that Kafka no longer has ends with a warning and is counted, an outage of Kafka does not', async () => {
    const topic = freshTopic();
    const log = recordingLog();
    let gone = 0;
    let asked = 0;
    const queue = openQueue(topic, {
      url: redis().url,
      payload: 'origin',
      log,
      read: async () => {
        asked++;
        if (asked === 1) throw new ServingError('KAFKA_UNAVAILABLE', 'away');
        return undefined;
      },
      onGone: () => void gone++,
    });
    const { runs, run } = recorded(() => DONE);
    await queue.start(run);
    await queue.handOver([entryOf(topic, 1)]);
    await expect.poll(() => gone, PATIENCE).toBe(1);
    await expect.poll(() => queue.counts(), PATIENCE).toEqual(EMPTY);
    expect([asked, runs.length]).toEqual([2, 0]);
    expect(log.lines.filter((line) => line.includes('no longer has its message')).length).toBe(1);
  });
});
