import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { KafkaAdmin } from '../../../src/kafka/admin.ts';
import { KafkaProducer } from '../../../src/kafka/producer.ts';
import { useKafka } from '../../support/stack.ts';
import { clientOf } from './harness.ts';

const kafka = useKafka();

it('a topic that was made a moment ago takes each record once: its leaders are ready before the first write', async () => {
  const client = clientOf(kafka().bootstrapServers);
  const records = Array.from({ length: 600 }, (_, i) => ({ key: `key-${i}`, value: 'x'.repeat(300) }));
  const written: number[] = [];
  for (let made = 0; made < 15; made++) {
    const topic = `topic-${randomUUID()}`;
    const [admin, producer] = [new KafkaAdmin(client), new KafkaProducer({ client })];
    await admin.ensureTopic(topic, { partitions: 6 });
    await producer.send(topic, records);
    written.push((await admin.lag('nobody', topic)).reduce((sum, { low, end }) => sum + Number(end - low), 0));
    await Promise.all([producer.close(), admin.close()]);
  }
  expect(written).toEqual(Array<number>(15).fill(600));
});
