/** Retry queues under test on a real Redis: short waits, a log that remembers, and runs that tell what they were given. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { RawMessage } from '../../../src/records/chunk.ts';
import type { RetryEntry, RetryJob, RetryQueue, RetryVerdict } from '../../../src/retry/retry-queue.ts';
import { plainClient, recordingLog } from '../redis-sink-client.ts';
import { openQueue as open, type QueueUnderTest } from './open-queue.ts';

export { plainClient, recordingLog };

const opened = new Set<RetryQueue>();

afterEach(async () => {
  await Promise.all([...opened].map((queue) => queue.close(AbortSignal.timeout(200))));
  opened.clear();
});

/** A topic name that no other test has; queues of one topic share their jobs. */
export function freshTopic(): string {
  return `topic.${randomBytes(4).toString('hex')}`;
}

export function openQueue(topic: string, options: QueueUnderTest): RetryQueue {
  const queue = open(topic, options);
  opened.add(queue);
  return queue;
}

export function rawOf(topic: string, offset: number, more: Partial<RawMessage> = {}): RawMessage {
  return {
    source: { topic, partition: 0, offset: BigInt(offset) },
    key: Buffer.from(`key-${offset}`),
    value: Buffer.from(`{"chunk_id":"c${offset}","text":"text of ${offset}"}`),
    headers: [],
    timestampMs: 1_700_000_000_000 + offset,
    ...more,
  };
}

export const REJECTED = new ServingError('INFERENCE_REJECTED', 'rejected');

export function entryOf(topic: string, offset: number, more: Partial<RetryEntry> = {}): RetryEntry {
  return {
    raw: rawOf(topic, offset),
    index: undefined,
    chunkId: `c${offset}`,
    stage: 'embed',
    error: REJECTED,
    attempts: 1,
    ...more,
  };
}

export type Ran = { readonly job: RetryJob; readonly atMs: number };

/** Runs that end with what `verdict` says, and are remembered. */
export function recorded(verdict: (job: RetryJob, signal: AbortSignal) => RetryVerdict | Promise<RetryVerdict>) {
  const runs: Ran[] = [];
  return {
    runs,
    offsets: () => runs.map(({ job }) => Number(job.raw.source.offset)),
    run: async (job: RetryJob, signal: AbortSignal): Promise<RetryVerdict> => {
      runs.push({ job, atMs: performance.now() });
      return await verdict(job, signal);
    },
  };
}

export function entriesOf(topic: string, offsets: readonly number[]): RetryEntry[] {
  return offsets.map((offset) => entryOf(topic, offset));
}

/** A run that goes on until it is told to end. */
export async function untilAborted(signal: AbortSignal): Promise<RetryVerdict> {
  await sleep(60_000, undefined, { signal }).catch(() => undefined);
  return { kind: 'abandoned' };
}

export function isAcknowledged(handedOver: Promise<void>): Promise<boolean> {
  return handedOver.then(
    () => true,
    () => false,
  );
}

export function sorted(offsets: Iterable<number>): number[] {
  return [...offsets].sort((a, b) => a - b);
}

/** For what is promised to end: far above the promise, far below never. */
export const BOUND_MS = 8_000;

export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const late = sleep(limitMs, undefined, { ref: false }).then(() => {
    throw new Error(`not within ${limitMs} ms`);
  });
  return await Promise.race([work, late]);
}

export const PATIENCE = { timeout: 20_000 };
export const EMPTY = { delayed: 0, waiting: 0, active: 0 };
export const DONE: RetryVerdict = { kind: 'done' };
export const AGAIN: RetryVerdict = { kind: 'again', error: REJECTED };
