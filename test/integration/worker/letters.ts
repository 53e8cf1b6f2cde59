/** Dead letters as they lie in their topic, read by a plain consumer that decodes nothing. */
import { randomUUID } from 'node:crypto';
import type { KafkaMessage } from 'kafkajs';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import { eventually } from './harness.ts';

export type Letter = Pick<KafkaMessage, 'key' | 'value'> & {
  /** Ours, by the name behind `rag-dlq-`. */
  readonly told: Readonly<Record<string, string>>;
  /** All values of each of the other headers, in order. */
  readonly headers: Readonly<Record<string, readonly Buffer[]>>;
};

const PREFIX = 'rag-dlq-';

/** Every letter of the topic from its beginning to its present end; none where the topic is not there. */
export async function readLetters(client: KafkaClient, topic: string): Promise<readonly Letter[]> {
  const admin = client.kafka.admin();
  await admin.connect();
  try {
    if (!(await admin.listTopics()).includes(topic)) return [];
    const ends = await admin.fetchTopicOffsets(topic);
    const expected = ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
    return await readMessages(client, topic, expected);
  } finally {
    await admin.disconnect();
  }
}

async function readMessages(client: KafkaClient, topic: string, expected: number): Promise<readonly Letter[]> {
  const letters: Letter[] = [];
  const consumer = client.kafka.consumer({ groupId: `letters-${randomUUID()}`, maxWaitTimeInMs: 50 });
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => void letters.push(letterOf(message)) });
    await eventually(`${expected} letters of ${topic}`, () => letters.length >= expected);
    return letters;
  } finally {
    await consumer.disconnect();
  }
}

function letterOf({ key, value, headers = {} }: KafkaMessage): Letter {
  // kafkajs puts a value that objects inherit (`constructor`) before the bytes.
  const entries = Object.entries(headers).map(
    ([name, values]) => [name, [values].flat().filter((one): one is Buffer => Buffer.isBuffer(one))] as const,
  );
  const told = entries.filter(([name]) => name.startsWith(PREFIX));
  return {
    key,
    value,
    told: Object.fromEntries(told.map(([name, values]) => [name.slice(PREFIX.length), values.map(String).join()])),
    headers: Object.fromEntries(entries.filter(([name]) => !name.startsWith(PREFIX))),
  };
}
