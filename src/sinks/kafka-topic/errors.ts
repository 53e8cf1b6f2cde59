/** Errors of Kafka as those of a store: the same classes, and what to do about them. */
import { ServingError } from '../../errors.ts';
import type { TopicConfig } from '../../kafka/topic-config.ts';
import type { SinkRow } from '../sink.ts';

/** @param what what failed, as in "Kafka topic x: what" */
export function translateKafkaError(error: unknown, what: string, topic: string): ServingError {
  if (!(error instanceof ServingError)) {
    return new ServingError('SINK_UNAVAILABLE', `${what}: Kafka topic ${topic}: unexpected error`, { cause: error });
  }
  const told = (
    code: 'SINK_UNAVAILABLE' | 'SINK_ACCESS_DENIED' | 'CONFIG_INVALID' | 'SINK_ROW_REFUSED',
    advice: string,
  ) => new ServingError(code, `${what}: Kafka topic ${topic}: ${error.message}: ${advice}`, { cause: error });
  switch (error.code) {
    case 'KAFKA_UNAVAILABLE':
    case 'KAFKA_TRANSACTION_FENCED':
      return told('SINK_UNAVAILABLE', 'it goes on when the brokers answer');
    case 'KAFKA_ACCESS_DENIED':
      return told(
        'SINK_ACCESS_DENIED',
        'the worker needs DESCRIBE, DESCRIBE_CONFIGS, READ and WRITE on the topic, and DESCRIBE and WRITE on the transactional ids that begin with rag-serving.',
      );
    case 'KAFKA_TOPIC_UNKNOWN':
      return told(
        'CONFIG_INVALID',
        'create it (kafka-topics.sh --create --topic … --partitions …) or correct RAG_SERVING_KAFKA_SINK_TOPIC',
      );
    case 'CHUNK_TOO_LARGE':
      return told('SINK_ROW_REFUSED', 'raise max.message.bytes of the topic');
    default:
      return error;
  }
}

export function tooLarge(row: SinkRow, bytes: number, { maxMessageBytes }: TopicConfig, topic: string): ServingError {
  const remedy = 'raise max.message.bytes of the topic, take the binary form, or store no text';
  return new ServingError(
    'SINK_ROW_REFUSED',
    `the row's record has about ${bytes} bytes; topic ${topic} takes ${maxMessageBytes}: ${remedy}`,
    { details: { offset: row.source.offset, partition: row.source.partition } },
  );
}
