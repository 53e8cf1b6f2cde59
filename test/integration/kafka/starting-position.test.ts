/** Partitions that nobody has committed: an autoscaler counts them as lag until somebody does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { chunkMessages, committedOffset, freshTopic, offsetsOf, startSource, until, useTools } from './harness.ts';

const kafka = useKafka();
const tools = useTools(kafka);

/** Nothing is settled, so whatever is committed is a starting position. */
const start = (topic: string, groupId: string, fromBeginning: boolean) =>
  startSource(kafka().bootstrapServers, {
    topic,
    groupId,
    fromBeginning,
    settleAtOnce: false,
    commitIntervalMs: 60_000,
  });

describe('a fresh group', () => {
  it('commits the beginning of each partition, also of an empty one', async () => {
    const { topic, groupId } = await freshTopic(tools, 'fresh', 3);
    await tools.producer.send(topic, chunkMessages(10, 0));
    const { source } = await start(topic, groupId, true);
    await until('three commits', async () => {
      const offsets = await tools.admin.committedOffsets(groupId, topic);
      return [0, 1, 2].every((partition) => offsets.get(partition) === 0n);
    });
    await source.close();
  });

  it('that begins at the end commits it at once, and a successor misses nothing that comes after', async () => {
    const { topic, groupId } = await freshTopic(tools, 'newest', 2);
    await tools.producer.send(topic, chunkMessages(10, 0));
    const first = await start(topic, groupId, false);
    await until('two commits', async () => {
      const offsets = await tools.admin.committedOffsets(groupId, topic);
      return offsets.get(0) === 10n && offsets.get(1) === 0n;
    });
    expect((await tools.admin.lag(groupId, topic)).map(({ lag }) => lag)).toEqual([0n, 0n]);
    await tools.producer.send(topic, chunkMessages(3, 0));
    await until('three records', () => first.records.length === 3);
    await first.source.close();
    await tools.producer.send(topic, chunkMessages(2, 1));
    const next = await start(topic, groupId, false);
    await until('all five', () => next.records.length === 5);
    expect(offsetsOf(next.records, 0)).toEqual([10n, 11n, 12n]);
    expect(offsetsOf(next.records, 1)).toEqual([0n, 1n]);
  });

  it('reads nothing of a partition before the broker holds an offset for it', async () => {
    const { topic, groupId } = await freshTopic(tools, 'anchor');
    await tools.producer.send(topic, chunkMessages(100));
    const run = await start(topic, groupId, true);
    await until('records', () => run.records.length > 0);
    expect(await committedOffset(tools, groupId, topic)).toBe(0n);
    expect(run.source.status().waiting['offsets not read yet']).toBe(0);
  });
});

describe('metadata beside the committed offset', () => {
  /** Another member of the group, which is no worker. */
  async function commitAsAnother(groupId: string, topic: string, offset: string, metadata: string): Promise<void> {
    const consumer = tools.client.kafka.consumer({ groupId });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic] });
    const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => {} });
    await joined;
    await consumer.commitOffsets([{ topic, partition: 0, offset, metadata }]);
    await consumer.disconnect();
  }

  for (const [name, metadata, reason] of [
    ['another program wrote', 'node-7@2024', 'written by another program'],
    ['is damaged', 'rag1b.AAAA.000000000000', 'damaged, or written for another offset'],
    ['comes from a version to come', 'rag9x.AAAA', 'damaged, or of another version'],
  ] as const) {
    it(`that ${name} is ignored with one warning`, async () => {
      const { topic, groupId } = await freshTopic(tools, 'foreign');
      await tools.producer.send(topic, chunkMessages(6));
      await commitAsAnother(groupId, topic, '2', metadata);
      const run = await startSource(kafka().bootstrapServers, { topic, groupId });
      await until('four records', () => run.records.length === 4);
      expect(offsetsOf(run.records)).toEqual([2n, 3n, 4n, 5n]);
      await sleep(500);
      const warnings = run.log.lines.filter(({ message }) => message.startsWith('commit metadata ignored'));
      expect(warnings.map(({ level, fields }) => [level, fields.reason])).toEqual([['warn', reason]]);
      expect(JSON.stringify(warnings)).not.toContain(metadata);
    });
  }
});
