/**
 * The sink on a Kafka topic against a real broker, without a source: everything is written at once. A topic keeps what is
 * superseded, so `write` cannot answer that it is; what a reader finds in the end is the same as in any other store.
 */

import { systemClock } from '../../src/clock.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../src/kafka/client.ts';
import { KafkaProducer } from '../../src/kafka/producer.ts';
import { type ValueFormat, valueFormats } from '../../src/sinks/kafka-topic/record.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { useKafka } from '../support/stack.ts';
import { describeSinkContract, type SinkHarnessOptions } from './sink-contract.ts';

const kafka = useKafka();

const connection = () => ({ bootstrapServers: kafka().bootstrapServers.split(','), sasl: undefined, tls: undefined });
const topicOf = (collection: string, format: ValueFormat) => `${format}.${collection}`;

async function withAdmin<T>(work: (admin: KafkaAdmin, client: KafkaClient) => Promise<T>): Promise<T> {
  const client = createKafkaClient({ ...connection(), clientId: 'test', log: silentLog });
  const admin = new KafkaAdmin(client);
  try {
    return await work(admin, client);
  } finally {
    await admin.close();
  }
}

async function create(topic: string, { allowMixedFingerprints = false }: SinkHarnessOptions, format: ValueFormat) {
  await withAdmin((admin) => admin.ensureTopic(topic, { partitions: 2 }));
  const source = { groupId: 'contract', topic: 'rag.ingestion.chunks' };
  const options = { connection: connection(), topic, source, allowMixedFingerprints, format };
  return createSink({ name: 'kafka-topic', options }, silentLog, systemClock);
}

/** Offsets as well: nothing is written. */
function traces(topic: string): Promise<readonly string[]> {
  return withAdmin(async (admin) => {
    if (!(await admin.topicExists(topic))) return [];
    return Array.from(await admin.topicBounds(topic), ([partition, { end }]) => `${topic}/${partition}/${end}`);
  });
}

function plantForeign(topic: string): Promise<void> {
  return withAdmin(async (admin, client) => {
    await admin.ensureTopic(topic, { partitions: 2 });
    const producer = new KafkaProducer({ client });
    await producer.send(topic, [{ key: 'order-1', value: '{}' }]);
    await producer.close();
  });
}

for (const format of valueFormats) {
  describeSinkContract(`kafka-topic (${format})`, {
    durable: true,
    keeps: 'log',
    create: (collection, options = {}) => create(topicOf(collection, format), options, format),
    traces: (collection) => traces(topicOf(collection, format)),
    plantForeign: (collection) => plantForeign(topicOf(collection, format)),
  });
}
