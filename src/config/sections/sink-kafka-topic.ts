/** A Kafka topic as a store: a part of the section `sink.ts`. The brokers are those that chunks come from. */
import { choice, integer, text } from '../leaf-types.ts';
import { always } from '../setting.ts';
import { type KafkaSinkSource, topicName } from './kafka.ts';

const formats = ['json', 'binary'] as const;
const compressions = ['none', 'gzip', 'snappy', 'lz4'] as const;

export const kafkaTopicSettings = {
  kafkaSinkTopic: text(
    'RAG_SERVING_KAFKA_SINK_TOPIC',
    always('rag.embeddings'),
    { doc: 'Topic of the sink kafka-topic, on the brokers of KAFKA_BOOTSTRAP_SERVERS. It must be there.' },
    topicName,
  ),
  kafkaSinkFormat: choice('RAG_SERVING_KAFKA_SINK_FORMAT', formats, always('json'), {
    doc: 'Form of the values: json, or binary, which is several times smaller (docs/sinks/kafka-topic.md).',
  }),
  kafkaSinkCompression: choice('RAG_SERVING_KAFKA_SINK_COMPRESSION', compressions, always('none'), {
    doc: 'Compression of what is written to the topic.',
  }),
  kafkaSinkMaxWaitingBytes: integer(
    'RAG_SERVING_KAFKA_SINK_MAX_WAITING_BYTES',
    always(67_108_864),
    { min: 1_048_576, max: 4_294_967_296 },
    { doc: 'Rows that wait for the commit of their messages; at so many bytes nothing more is fetched.' },
  ),
} as const;

export type KafkaTopicSinkConfig = {
  readonly kind: 'kafka-topic';
  readonly kafka: KafkaSinkSource;
  readonly topic: string;
  readonly format: (typeof formats)[number];
  readonly compression: (typeof compressions)[number];
  readonly maxWaitingBytes: number;
  readonly storeText: boolean;
  readonly tombstoneRetentionMs: number;
  readonly allowMixedFingerprints: boolean;
};
