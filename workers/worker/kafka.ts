/** The Kafka side of the worker: source, dead letters and lag, from one client configuration. */
import type { WorkerConfig } from '../../src/config/programs.ts';
import type { ServingError } from '../../src/errors.ts';
import { KafkaAdmin, type PartitionLag } from '../../src/kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../src/kafka/client.ts';
import type { DeadLetters } from '../../src/kafka/dead-letter.ts';
import { createDeadLetters } from '../../src/kafka/dead-letters.ts';
import type { DecodeOptions } from '../../src/kafka/decode.ts';
import { askGroup, type GroupState } from '../../src/kafka/group-state.ts';
import { createKafkaSource } from '../../src/kafka/kafka-source.ts';
import type { Source } from '../../src/kafka/source.ts';
import type { ValueReader } from '../../src/kafka/value-reader.ts';
import type { CommitPartner } from '../../src/offsets/commit-partner.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';

export type KafkaParts = {
  readonly client: KafkaClient;
  /** How messages are read, also those that come back from the retry queue. */
  readonly decode: DecodeOptions;
  readonly source: Source;
  readonly deadLetters: DeadLetters;
  /** Lag of the group by partition, from the broker. */
  lag(): Promise<readonly PartitionLag[]>;
  /** State and lag of the group, from the broker, over connections of their own. */
  askGroup(): Promise<GroupState>;
  /** Ends the connection that `lag` uses. */
  closeLag(): Promise<void>;
};

/** Fetching goes on below this share of the in-flight limits. */
const LOW_RATIO = 0.5;

/** Connects to nothing yet. With a partner offsets are committed through it. `onCommit` is told how long each commit took, and the error of one that was not acknowledged. */
export function openKafka(
  config: WorkerConfig,
  values: ValueReader | undefined,
  metrics: Metrics,
  log: Log,
  onCommit: (tookMs: number, error: ServingError | undefined) => void,
  commitPartner?: CommitPartner,
): KafkaParts {
  const { kafka, pipeline, workerId } = config;
  const client = createKafkaClient({ ...kafka, clientId: workerId, log });
  const admin = new KafkaAdmin(client);
  const decode: DecodeOptions = {
    maxTextBytes: pipeline.maxTextBytes,
    oversizedText: pipeline.oversizePolicy === 'truncate' ? 'cut' : 'reject',
    keepUnknownFields: pipeline.keepUnknownFields,
    values,
  };
  const source = createKafkaSource({
    client,
    topic: kafka.topic,
    groupId: kafka.consumerGroup,
    decode,
    flow: {
      maxInFlightChunks: pipeline.maxInFlightChunks,
      maxInFlightBytes: pipeline.maxInFlightBytes,
      lowRatio: LOW_RATIO,
    },
    commitIntervalMs: pipeline.commitIntervalMs,
    // About a batch: whoever takes over from a killed worker embeds again what was in flight and little more.
    commitThreshold: pipeline.maxBatchSize,
    fromBeginning: kafka.fromBeginning,
    sessionTimeoutMs: kafka.sessionTimeoutMs,
    rebalanceTimeoutMs: kafka.rebalanceTimeoutMs,
    rebalanceHoldMs: kafka.rebalanceHoldMs,
    offsetReset: kafka.offsetReset,
    fetchMaxWaitMs: kafka.fetchMaxWaitMs,
    fetchMinBytes: kafka.fetchMinBytes,
    onCommit: (tookMs, error) => {
      metrics.stageDuration.observe({ stage: 'commit', result: error === undefined ? 'ok' : 'failed' }, tookMs / 1_000);
      onCommit(tookMs, error);
    },
    observer: {
      decoded: (seconds) => metrics.stageDuration.observe({ stage: 'decode', result: 'ok' }, seconds),
      committed: (result) => metrics.commits.add({ result }),
      offsetsReset: (kind, gone) => {
        metrics.offsetResets.add({ kind });
        metrics.offsetsGone.add({}, Number(gone));
      },
    },
    commitPartner,
    log,
  });
  return {
    client,
    decode,
    source,
    deadLetters: createDeadLetters({ client, topic: pipeline.deadLetterTopic, workerId, log }),
    lag: () => admin.lag(kafka.consumerGroup, kafka.topic),
    askGroup: () => askGroup(client, kafka.consumerGroup, kafka.topic),
    closeLag: () => admin.close(),
  };
}
