import { describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { chunkMessages, committedOffset, freshTopic, offsetsOf, startSource, until, useTools } from './harness.ts';

const kafka = useKafka();
const tools = useTools(kafka);

/** One-record transactions: the markers take every other offset. */
async function produceTransactions(topic: string, count: number, end: 'commit' | 'abort'): Promise<void> {
  const producer = tools.client.kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: `tx-${topic}-${end}`,
  });
  await producer.connect();
  for (let i = 0; i < count; i++) {
    const transaction = await producer.transaction();
    await transaction.send({
      topic,
      messages: [{ key: `${i}`, value: JSON.stringify({ chunk_id: `${i}`, text: 'x' }) }],
    });
    await transaction[end]();
  }
  await producer.disconnect();
}

describe('commits', () => {
  it('gaps that transaction markers leave do not stall the commit, and the last marker is passed (K02)', async () => {
    const { topic, groupId } = await freshTopic(tools, 'gaps');
    await produceTransactions(topic, 5, 'commit');
    const first = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('five records', () => first.records.length === 5);
    expect(offsetsOf(first.records)).toEqual([0n, 2n, 4n, 6n, 8n]);
    await until('the commit passes the marker', async () => (await committedOffset(tools, groupId, topic)) === 10n);
    await first.source.close();
    const again = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('joined', () => again.source.status().joined);
    await tools.producer.send(topic, chunkMessages(1));
    await until('the next record', () => again.records.length > 0);
    expect(offsetsOf(again.records)).toEqual([10n]);
    expect(await tools.admin.lag(groupId, topic)).toMatchObject([{ partition: 0, end: 11n }]);
    await until('lag 0', async () => (await tools.admin.lag(groupId, topic))[0]?.lag === 0n);
  });

  it('passes a partition that holds nothing but aborted records', async () => {
    const { topic, groupId } = await freshTopic(tools, 'aborted');
    await produceTransactions(topic, 2, 'abort');
    const { source, records } = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('lag 0', async () => (await tools.admin.lag(groupId, topic))[0]?.lag === 0n);
    expect(records).toEqual([]);
    await source.close();
  });

  it('a slow record holds the commit back though all others are done, and the next member gets it again (K05)', async () => {
    const { topic, groupId } = await freshTopic(tools, 'slow');
    await tools.producer.send(topic, chunkMessages(10));
    const first = await startSource(kafka().bootstrapServers, { topic, groupId, settleAtOnce: false });
    await until('ten records', () => first.records.length === 10);
    for (const record of [...first.records].reverse()) if (record.raw.source.offset !== 3n) first.settle(record);
    await first.source.commit();
    expect(await committedOffset(tools, groupId, topic)).toBe(3n);
    expect(first.source.status()).toMatchObject({ inFlightChunks: 1, joined: true });
    // All that the next member goes by is the committed offset: an abandoned record must not move it.
    for (const record of first.open) record.settle({ kind: 'abandoned' });
    await first.source.close();
    expect(await committedOffset(tools, groupId, topic)).toBe(3n);
    const next = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('the slow one again', () => next.records.length > 0);
    await next.source.close();
    expect(offsetsOf(next.records), 'the others are told beside the offset').toEqual([3n]);
    expect(await committedOffset(tools, groupId, topic)).toBe(10n);
  });

  it('close commits what is done and leaves the group at once', async () => {
    const { topic, groupId } = await freshTopic(tools, 'close');
    await tools.producer.send(topic, chunkMessages(5));
    const { source, records } = await startSource(kafka().bootstrapServers, {
      topic,
      groupId,
      commitIntervalMs: 60_000,
    });
    await until('five records', () => records.length === 5);
    await source.close();
    await source.close();
    expect(await committedOffset(tools, groupId, topic)).toBe(5n);
    expect(source.status()).toMatchObject({ joined: false, reason: 'closed' });
    const admin = tools.client.kafka.admin();
    await admin.connect();
    const { groups } = await admin.describeGroups([groupId]);
    await admin.disconnect();
    expect(groups[0]).toMatchObject({ state: 'Empty', members: [] });
  });
});
