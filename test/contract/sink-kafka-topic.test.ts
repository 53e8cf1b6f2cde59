/**
 * The sink on a Kafka topic against a real broker, without a source: everything is written at once. A topic keeps what is
 * superseded, so `write` cannot answer that it is; what a reader finds in the end is the same as in any other store.
 */

import { systemClock } from '../../src/clock.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient } from '../../src/kafka/client.ts';
import type { KafkaTopicSinkOptions } from '../../src/sinks/kafka-topic/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { useKafka } from '../support/stack.ts';
import { describeSinkContract, type SinkHarnessOptions } from './sink-contract.ts';

const kafka = useKafka();

async function create(
  collection: string,
  { allowMixedFingerprints = false }: SinkHarnessOptions,
  format: KafkaTopicSinkOptions['format'],
): Promise<Sink> {
  const connection = { bootstrapServers: kafka().bootstrapServers.split(','), sasl: undefined, tls: undefined };
  const topic = `${format}.${collection}`;
  const admin = new KafkaAdmin(createKafkaClient({ ...connection, clientId: 'test', log: silentLog }));
  await admin.ensureTopic(topic, { partitions: 2 });
  await admin.close();
  const source = { groupId: 'contract', topic: 'rag.ingestion.chunks' };
  const options = { connection, topic, source, allowMixedFingerprints, ...(format === undefined ? {} : { format }) };
  return createSink({ name: 'kafka-topic', options }, silentLog, systemClock);
}

for (const format of ['json', 'binary'] as const) {
  describeSinkContract(`kafka-topic (${format})`, {
    durable: true,
    keeps: 'log',
    create: (collection, options = {}) => create(collection, options, format),
  });
}
