/** Retry queues under test on a real Redis: short waits, a log that remembers, and runs that tell what they were given. */
import { randomBytes } from 'node:crypto';
import { afterEach } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { RawMessage } from '../../../src/records/chunk.ts';
import { type BullmqRetryQueueOptions, createBullmqRetryQueue } from '../../../src/retry/bullmq-retry-queue.ts';
import type { RetryEntry, RetryJob, RetryQueue, RetryVerdict } from '../../../src/retry/retry-queue.ts';
import { plainClient, recordingLog } from '../redis-sink-client.ts';

export { plainClient, recordingLog };

const open = new Set<RetryQueue>();

afterEach(async () => {
  await Promise.all([...open].map((queue) => queue.close(AbortSignal.timeout(200))));
  open.clear();
});

export type QueueUnderTest = Partial<Omit<BullmqRetryQueueOptions, 'redis'>> & {
  readonly url: string;
  readonly connectTimeoutMs?: number;
  readonly commandTimeoutMs?: number;
};

/** A topic name that no other test has; queues of one topic share their jobs. */
export function freshTopic(): string {
  return `topic.${randomBytes(4).toString('hex')}`;
}

export function openQueue(topic: string, { url, connectTimeoutMs, commandTimeoutMs, ...more }: QueueUnderTest) {
  const queue = createBullmqRetryQueue({
    redis: {
      url,
      tlsCa: undefined,
      connectTimeoutMs: connectTimeoutMs ?? 2_000,
      commandTimeoutMs: commandTimeoutMs ?? 2_000,
    },
    keyPrefix: 'retry-test',
    identity: { consumerGroup: 'group', topic, collection: 'memory' },
    payload: 'message',
    maxAttempts: 5,
    backoff: { baseMs: 100, maxMs: 1_000 },
    concurrency: 8,
    pollMs: 50,
    read: () => Promise.reject(new ServingError('KAFKA_UNAVAILABLE', 'this test has no Kafka')),
    log: recordingLog(),
    ...more,
  });
  open.add(queue);
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

export const DONE: RetryVerdict = { kind: 'done' };
export const AGAIN: RetryVerdict = { kind: 'again', error: REJECTED };
