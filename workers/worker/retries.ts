/**
 * The durable retry queue of the worker, made from its settings; and its gauges.
 *
 * In the drain list it is closed after the group has been left and before the store and the dead-letter producer, which
 * running retries still need.
 */
import { loadTlsMaterial } from '../../src/config/file-types.ts';
import type { WorkerConfig } from '../../src/config/programs.ts';
import type { SinkConfig } from '../../src/config/sections/sink.ts';
import type { KafkaClient } from '../../src/kafka/client.ts';
import { MessageReader } from '../../src/kafka/message-reader.ts';
import type { RetryCounts, RetryQueue } from '../../src/retry/retry-queue.ts';
import { parsePostgresUrl } from '../../src/sinks/pgvector/url.ts';
import { parseRedisUrl } from '../../src/sinks/redis/url.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { every } from './every.ts';

const COUNT_EVERY_MS = 5_000;
/** The reader of messages has a consumer to send away. */
const READER_CLOSE_MS = 2_000;

/** Undefined without a Redis for it, and where the first attempt is to be the last. Connects in the background: `start` waits, and hand-overs fail as an outage. */
export async function openRetries(
  config: WorkerConfig,
  client: KafkaClient,
  log: Log,
  metrics?: Metrics,
  onCounts: (counts: RetryCounts | undefined) => void = () => {},
): Promise<RetryQueue | undefined> {
  const { kafka, sink, retry } = config;
  const { durable, maxAttempts, backoff } = retry;
  if (durable === undefined || maxAttempts === 1) return undefined;
  const { createBullmqRetryQueue } = await import('../../src/retry/bullmq-retry-queue.ts');
  const { ca } = loadTlsMaterial({ caPath: durable.caPath, certPath: undefined, keyPath: undefined });
  const reader = new MessageReader({ client, topic: kafka.topic, consumerGroup: kafka.consumerGroup, log });
  const queue = createBullmqRetryQueue({
    redis: { url: durable.url.reveal(), tlsCa: ca },
    keyPrefix: durable.keyPrefix,
    identity: { consumerGroup: kafka.consumerGroup, topic: kafka.topic, collection: collectionOf(sink) },
    payload: durable.payload,
    concurrency: durable.concurrency,
    maxAttempts,
    backoff,
    read: (position, signal) => reader.read(position, signal),
    onGone: () => metrics?.retryMessagesGone.add({}),
    log,
  });
  const counting = metrics === undefined ? undefined : watchCounts(queue, metrics, onCounts);
  return {
    handOver: (entries, signal) => queue.handOver(entries, signal),
    start: (run) => queue.start(run),
    counts: () => queue.counts(),
    close: async (signal) => {
      counting?.stop();
      await queue.close(signal);
      await Promise.race([reader.close(), new Promise((resolve) => setTimeout(resolve, READER_CLOSE_MS).unref())]);
    },
  };
}

/** What tells collections apart, without secrets: workers that write different ones do not share a retry queue. */
export function collectionOf(sink: SinkConfig): string {
  switch (sink.kind) {
    case 'lancedb':
      return JSON.stringify([sink.kind, sink.path, sink.table]);
    case 'redis': {
      const { host, port, database } = parseRedisUrl(sink.url.reveal());
      return JSON.stringify([sink.kind, host, port, database, sink.keyPrefix]);
    }
    case 'pgvector': {
      const { host, port, database } = parsePostgresUrl(sink.url.reveal());
      return JSON.stringify([sink.kind, host, port, database, sink.table]);
    }
    case 'kafka-topic':
      return JSON.stringify([sink.kind, ...sink.kafka.bootstrapServers, sink.topic]);
    case 'fan-out':
      return JSON.stringify([sink.kind, ...sink.members.map(collectionOf)]);
    case 'module':
      // Its options may hold secrets, so collections of one module are told apart by the consumer group alone.
      return JSON.stringify([sink.kind, sink.module]);
    case 'memory':
      return sink.kind;
  }
}

/** A queue that cannot be counted shows no series, rather than the last numbers. */
function watchCounts(
  queue: RetryQueue,
  metrics: Metrics,
  onCounts: (counts: RetryCounts | undefined) => void,
): { stop(): void } {
  const read = async () => {
    const counts = await queue.counts();
    onCounts(counts);
    metrics.retries.clear();
    if (counts === undefined) return;
    metrics.retries.set({ state: 'delayed' }, counts.delayed);
    metrics.retries.set({ state: 'waiting' }, counts.waiting);
    metrics.retries.set({ state: 'active' }, counts.active);
  };
  return every(COUNT_EVERY_MS, read);
}
