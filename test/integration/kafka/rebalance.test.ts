import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { chunkMessages, committedOffset, freshTopic, type Harness, startSource, until, useTools } from './harness.ts';

const kafka = useKafka();
const tools = useTools(kafka);

const positions = ({ records }: Harness) =>
  records.map(({ raw: { source } }) => `${source.partition}/${source.offset}`);

describe('a second member joins and leaves', () => {
  it('kept partitions deliver nothing twice, moved ones lose nothing, and a late outcome moves no commit back', async () => {
    const { topic, groupId } = await freshTopic(tools, 'rebalance', 4);
    for (const partition of [0, 1, 2, 3]) await tools.producer.send(topic, chunkMessages(100, partition));
    const first = await startSource(kafka().bootstrapServers, { topic, groupId, settleAtOnce: false });
    await until('all records', () => first.records.length === 400);
    // Done out of order: of every partition the odd offsets, which no commit can tell.
    for (const record of first.records) if (record.raw.source.offset % 2n === 1n) first.settle(record);
    const second = await startSource(kafka().bootstrapServers, { topic, groupId, settleAtOnce: false });
    await until(
      'both have partitions',
      () => first.source.status().assigned.length === 2 && second.source.status().assigned.length === 2,
    );
    const kept = new Set(first.source.status().assigned.map(({ partition }) => partition));
    const lost = first.revoked.flat().map(({ partition }) => partition);
    expect([...kept, ...lost].sort()).toEqual([0, 1, 2, 3]);
    await until('the moved partitions are read again', () => second.records.length >= 100);
    await sleep(500);
    expect(first.records, 'redelivered to the keeper').toHaveLength(400);
    expect(new Set(second.records.map(({ raw }) => raw.source.partition))).toEqual(new Set(lost));
    expect(second.records, 'the odd ones were told beside the offset').toHaveLength(100);
    expect(second.records.every(({ raw }) => raw.source.offset % 2n === 0n)).toBe(true);

    // The new owner is done and has committed; then the old owner's late outcomes arrive.
    second.settleAll();
    await second.source.commit();
    for (const record of first.open) if (lost.includes(record.raw.source.partition)) first.settle(record);
    await first.source.commit();
    for (const partition of lost) expect(await committedOffset(tools, groupId, topic, partition)).toBe(100n);
    for (const partition of kept) expect(await committedOffset(tools, groupId, topic, partition)).toBe(0n);
    first.settleAll();
    await first.source.commit();
    for (const partition of kept) expect(await committedOffset(tools, groupId, topic, partition)).toBe(100n);

    await second.source.close();
    await until('all back', () => first.source.status().assigned.length === 4);
    for (const partition of [0, 1, 2, 3]) await tools.producer.send(topic, chunkMessages(1, partition));
    await until('one more of each', () => first.records.length === 404);
    expect(positions(first).slice(400).sort()).toEqual(['0/100', '1/100', '2/100', '3/100']);
  });

  it('members that come and go under load settle every offset, and lose none', async () => {
    const { topic, groupId } = await freshTopic(tools, 'churn', 4);
    const options = {
      topic,
      groupId,
      flow: { maxInFlightChunks: 300, maxInFlightBytes: 1_048_576, lowRatio: 0.5 },
      fetchMaxWaitMs: 50,
    };
    const members = [await startSource(kafka().bootstrapServers, options)];
    const expected = new Set<string>();
    for (let round = 0; round < 4; round++) {
      for (const partition of [0, 1, 2, 3]) {
        await tools.producer.send(topic, chunkMessages(200, partition));
        for (let i = 0; i < 200; i++) expected.add(`${partition}/${round * 200 + i}`);
      }
      if (round === 0 || round === 1) members.push(await startSource(kafka().bootstrapServers, options));
      if (round === 2) await members[1]!.source.close();
    }
    const seen = () => new Set(members.flatMap(positions));
    await until('all offsets', () => seen().size === expected.size);
    expect([...expected].filter((position) => !seen().has(position))).toEqual([]);
    await until('lag 0', async () => (await tools.admin.lag(groupId, topic)).every(({ lag }) => lag === 0n));
    expect(members.flatMap(({ fatal }) => fatal)).toEqual([]);
  });
});

describe('a group shared by two topics (K11)', () => {
  it('the starved member is not joined, and the log names the group and both topics', async () => {
    const one = await freshTopic(tools, 'one');
    const { topic: other } = await freshTopic(tools, 'other');
    const reader = await startSource(kafka().bootstrapServers, { topic: one.topic, groupId: one.groupId });
    await until('the first is alone', () => reader.source.status().joined);
    const starved = await startSource(kafka().bootstrapServers, { topic: other, groupId: one.groupId });
    const members = [reader, starved];
    await until('one of them is told', () =>
      members.some(({ source }) => source.status().reason?.includes('KAFKA_GROUP_MISUSED') === true),
    );
    const told = members.find(({ source }) => source.status().reason !== undefined)!;
    expect(told.source.status().joined).toBe(false);
    expect(told.source.status().reason).toContain(one.groupId);
    for (const topic of [one.topic, other]) expect(told.source.status().reason).toContain(topic);
    await until('both log it', () =>
      members.every(({ log }) =>
        log.lines.some(({ level, message }) => level === 'error' && message.includes('shared')),
      ),
    );
  });
});
