/** The offsets to read are not in the log any more. */
import { describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { chunkMessages, committedOffset, freshTopic, offsetsOf, startSource, until, useTools } from './harness.ts';

const kafka = useKafka();
const tools = useTools(kafka);

async function deleteBefore(topic: string, offset: number): Promise<void> {
  const admin = tools.client.kafka.admin();
  await admin.connect();
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] });
  await admin.disconnect();
}

/** Counts what the observer is told. */
function counting() {
  const resets: [kind: string, gone: bigint][] = [];
  const observer = {
    committed: () => {},
    offsetsReset: (kind: string, gone: bigint) => void resets.push([kind, gone]),
  };
  return { resets, observer };
}

const RESET = 'offset out of range: reading goes on at the oldest offset';

describe('offsets deleted before they were read', () => {
  it('while the worker is down: it begins at the oldest one, says how many are gone, and the commit is put right', async () => {
    const { topic, groupId } = await freshTopic(tools, 'deleted');
    await tools.producer.send(topic, chunkMessages(20));
    const first = await startSource(kafka().bootstrapServers, { topic, groupId, settleAtOnce: false });
    await until('twenty records', () => first.records.length === 20);
    for (const record of first.records) if (record.raw.source.offset < 5n) first.settle(record);
    await first.source.close();
    expect(await committedOffset(tools, groupId, topic)).toBe(5n);
    await deleteBefore(topic, 12);

    const { resets, observer } = counting();
    const seen: bigint[] = [];
    const next = await startSource(kafka().bootstrapServers, { topic, groupId, observer, settleAtOnce: false });
    await until('a commit at the oldest offset, before anything is done', async () => {
      const offset = await committedOffset(tools, groupId, topic);
      seen.push(offset);
      return offset === 12n;
    });
    expect(seen.filter((offset) => offset < 5n)).toEqual([]);
    await until('the eight that are left', () => next.records.length === 8);
    expect(offsetsOf(next.records)[0]).toBe(12n);
    expect(resets).toEqual([['deleted', 7n]]);
    expect(next.log.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: RESET,
        fields: expect.objectContaining({ offsetsGone: '7', wantedOffset: '5', readingFrom: '12' }),
      }),
    );
    next.settleAll();
    await next.source.close();
    expect(await committedOffset(tools, groupId, topic)).toBe(20n);
  });

  it('under a worker that is paused: what it has read goes on, and no offset is committed before its turn', async () => {
    const { topic, groupId } = await freshTopic(tools, 'paused');
    await tools.producer.send(topic, chunkMessages(10));
    const { resets, observer } = counting();
    const options = { topic, groupId, observer, settleAtOnce: false };
    const run = await startSource(kafka().bootstrapServers, options);
    await until('ten records', () => run.records.length === 10);
    run.source.pause('test');
    await tools.producer.send(topic, chunkMessages(10));
    await deleteBefore(topic, 15);
    run.source.resume('test');
    await until('the five that are left', () => run.records.length === 15);
    expect(offsetsOf(run.records).slice(10)).toEqual([15n, 16n, 17n, 18n, 19n]);
    expect(resets).toEqual([['deleted', 5n]]);
    expect(run.revoked, 'nobody could read these again').toEqual([]);
    await run.source.commit();
    expect(await committedOffset(tools, groupId, topic)).toBe(0n);
    run.settleAll();
    await run.source.commit();
    expect(await committedOffset(tools, groupId, topic)).toBe(20n);
  });

  it('with the policy `stop`: one clear fatal error, and the group stays where it was', async () => {
    const { topic, groupId } = await freshTopic(tools, 'stop');
    await tools.producer.send(topic, chunkMessages(10));
    const first = await startSource(kafka().bootstrapServers, { topic, groupId, settleAtOnce: false });
    await until('ten records', () => first.records.length === 10);
    for (const record of first.records) if (record.raw.source.offset < 5n) first.settle(record);
    await first.source.close();
    await deleteBefore(topic, 8);
    const options = { topic, groupId, offsetReset: 'stop' as const };
    const next = await startSource(kafka().bootstrapServers, options);
    await until('the error', () => next.fatal.length > 0);
    expect(next.fatal).toMatchObject([{ code: 'KAFKA_OFFSETS_GONE' }]);
    expect(next.fatal[0]!.message).toContain(`offset 5 of ${topic}:0 is not in the log any more, which holds 8 to 10`);
    expect(next.fatal[0]!.message).toContain('KAFKA_OFFSET_RESET');
    expect(next.records).toEqual([]);
    await next.source.close();
    expect(await committedOffset(tools, groupId, topic)).toBe(5n);
  });
});

describe('a group that stands behind the end of the log', () => {
  it('reads all of it: it is another one, or was cut', async () => {
    const { topic, groupId } = await freshTopic(tools, 'cut');
    await tools.producer.send(topic, chunkMessages(5));
    const admin = tools.client.kafka.admin();
    await admin.connect();
    await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '50' }] });
    await admin.disconnect();
    const { resets, observer } = counting();
    const run = await startSource(kafka().bootstrapServers, { topic, groupId, observer });
    await until('all five', () => run.records.length === 5);
    expect(offsetsOf(run.records)).toEqual([0n, 1n, 2n, 3n, 4n]);
    expect(resets).toEqual([['truncated', 0n]]);
    await until('the commit', async () => (await committedOffset(tools, groupId, topic)) === 5n);
  });
});
