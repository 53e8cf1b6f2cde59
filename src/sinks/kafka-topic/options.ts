/** What the sink on a Kafka topic is told. */
import type { KafkaConnectionConfig } from '../../config/sections/kafka.ts';
import { ServingError } from '../../errors.ts';
import type { ProducerCompression } from '../../kafka/producer.ts';
import type { ValueFormat } from './record.ts';

export type KafkaTopicSinkOptions = {
  readonly connection: KafkaConnectionConfig;
  readonly topic: string;
  readonly format?: ValueFormat;
  readonly compression?: ProducerCompression;
  /** The group and the topic whose offsets are committed with the records; also the beginning of the names of groups and transactional ids. */
  readonly source: { readonly groupId: string; readonly topic: string };
  /** Of rows that wait for the commit; the source stops fetching at it. */
  readonly maxWaitingBytes?: number;
  readonly allowMixedFingerprints?: boolean;
};

export type ResolvedKafkaTopicOptions = Required<KafkaTopicSinkOptions>;

const MAX_WAITING_BYTES = 67_108_864;

export function resolveKafkaTopicOptions(options: KafkaTopicSinkOptions): ResolvedKafkaTopicOptions {
  if (!/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/.test(options.topic)) {
    throw new ServingError(
      'CONFIG_INVALID',
      'RAG_SERVING_KAFKA_SINK_TOPIC is no topic name: 1–249 letters, digits, dots, hyphens or underscores',
    );
  }
  if (options.topic === options.source.topic) {
    throw new ServingError(
      'CONFIG_INVALID',
      `RAG_SERVING_KAFKA_SINK_TOPIC is ${options.topic}, the topic that is read (KAFKA_TOPIC): the worker would read what it writes`,
    );
  }
  return {
    format: 'json',
    compression: 'none',
    maxWaitingBytes: MAX_WAITING_BYTES,
    allowMixedFingerprints: false,
    ...options,
  };
}
