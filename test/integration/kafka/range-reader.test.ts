/** Reading a topic to the end that it has now: markers and undone records at its end, nothing in it, deleted beginnings, an interruption. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRanges } from '../../../src/kafka/range-reader.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { useKafka } from '../../support/stack.ts';
import { TestTopic } from '../worker/harness.ts';

const kafka = useKafka();
let topic: TestTopic;

beforeEach(async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(2);
});
afterEach(() => topic.close());

async function transaction(end: 'commit' | 'abort', ...keys: readonly string[]): Promise<void> {
  const producer = topic.client.kafka.producer({
    transactionalId: topic.topic,
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await producer.connect();
  const begun = await producer.transaction();
  await begun.send({ topic: topic.topic, messages: keys.map((key) => ({ key, value: key, partition: 0 })) });
  await begun[end]();
  await producer.disconnect();
}

async function read(signal = AbortSignal.timeout(30_000), enoughAt = Number.POSITIVE_INFINITY): Promise<string[]> {
  const bounds = await topic.admin.topicBounds(topic.topic);
  const ranges = new Map(Array.from(bounds, ([partition, { low, end }]) => [partition, { from: low, to: end }]));
  const keys: string[] = [];
  const options = { client: topic.client, topic: topic.topic, consumerGroup: topic.group, log: silentLog };
  await readRanges(
    options,
    ranges,
    async (messages) => {
      keys.push(...messages.map(({ key }) => String(key && Buffer.from(key))));
      return keys.length >= enoughAt ? 'enough' : 'more';
    },
    signal,
  );
  return keys;
}

describe('reading a topic to its present end', () => {
  it('an empty one is read at once', async () => {
    expect(await read()).toEqual([]);
  });
  it('one that holds nothing but undone records is empty', async () => {
    await transaction('abort', 'a', 'b');
    expect(await read()).toEqual([]);
  });
  it('markers and undone records at its end and in between are passed', async () => {
    await transaction('commit', 'a');
    await transaction('abort', 'b');
    await transaction('commit', 'c');
    await transaction('abort', 'd');
    expect(await read()).toEqual(['a', 'c']);
  });
  it('what was deleted from its beginning is not waited for', async () => {
    await topic.send(['a', 'b', 'c'].map((key) => ({ key, value: key, partition: 1 })));
    await topic.admin.deleteRecords(topic.topic, new Map([[1, 2n]]));
    expect(await read()).toEqual(['c']);
    await topic.admin.deleteRecords(topic.topic, new Map([[1, 3n]]));
    expect(await read()).toEqual([]);
  });
  it('ends when it was enough, and with the reason of an interruption', async () => {
    await topic.send(['a', 'b'].map((key) => ({ key, value: key, partition: 0 })));
    expect((await read(undefined, 1)).length).toBeGreaterThan(0);
    await expect(read(AbortSignal.abort(new Error('no more')))).rejects.toThrow('no more');
  });
});
