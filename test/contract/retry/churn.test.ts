/** Everything at once: several workers that come and go, refusals, faults of ours, and a Redis that is killed again and again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { RetryJob } from '../../../src/retry/retry-queue.ts';
import { useRedis } from '../../support/stack.ts';
import { AGAIN, DONE, EMPTY, entryOf, freshTopic, isAcknowledged, openQueue, recorded, sorted } from './fixture.ts';

const redis = useRedis({ appendonly: true });
const CHUNKS = 300;

it('every chunk that was acknowledged comes to its end, none early', async () => {
  const topic = freshTopic();
  const ended = new Set<number>();
  const early: number[] = [];
  // Refused at the second attempt, a fault at the third, done or dead-lettered at the fourth, the last.
  const { run } = recorded(async ({ raw, attempt, last }: RetryJob, signal) => {
    await sleep(20, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return { kind: 'abandoned' };
    if (attempt === 2) return AGAIN;
    if (attempt === 3) throw new TypeError('a fault of ours');
    if (!last) early.push(Number(raw.source.offset));
    ended.add(Number(raw.source.offset));
    return DONE;
  });
  const options = {
    url: redis().url,
    maxAttempts: 4,
    backoff: { baseMs: 50, maxMs: 400 },
    lockMs: 2_000,
    commandTimeoutMs: 1_000,
  };
  const first = openQueue(topic, options);
  const second = openQueue(topic, options);
  await Promise.all([first.start(run), second.start(run)]);

  const handingOver = (async () => {
    for (let offset = 0; offset < CHUNKS; ) {
      if (await isAcknowledged(first.handOver([entryOf(topic, offset)]))) offset++;
      else await sleep(50);
    }
  })();
  for (let round = 0; round < 3; round++) {
    await sleep(700);
    await redis().kill('SIGKILL');
    await sleep(300);
    await redis().restart();
  }
  await second.close(AbortSignal.timeout(100));
  const third = openQueue(topic, options);
  await third.start(run);
  await handingOver;
  await expect.poll(() => third.counts(), { timeout: 60_000 }).toEqual(EMPTY);
  expect(sorted(ended)).toEqual(Array.from({ length: CHUNKS }, (_, offset) => offset));
  expect(early).toEqual([]);
});
