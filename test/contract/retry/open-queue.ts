/** A retry queue on a real Redis with short waits; also for a process that is no test. */
import { ServingError } from '../../../src/errors.ts';
import { type BullmqRetryQueueOptions, createBullmqRetryQueue } from '../../../src/retry/bullmq-retry-queue.ts';
import type { RetryQueue } from '../../../src/retry/retry-queue.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

export type QueueUnderTest = Partial<Omit<BullmqRetryQueueOptions, 'redis'>> & {
  readonly url: string;
  readonly tlsCa?: string | undefined;
  readonly connectTimeoutMs?: number;
  readonly commandTimeoutMs?: number;
};

export function openQueue(
  topic: string,
  { url, tlsCa, connectTimeoutMs, commandTimeoutMs, ...more }: QueueUnderTest,
): RetryQueue {
  return createBullmqRetryQueue({
    redis: {
      url,
      tlsCa,
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
    log: silentLog,
    ...more,
  });
}
