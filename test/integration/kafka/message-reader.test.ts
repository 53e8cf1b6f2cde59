/** Single messages read once more by their offset, from a real broker. */
import { describe, expect, it } from 'vitest';
import { MessageReader } from '../../../src/kafka/message-reader.ts';
import type { RawMessage, SourcePosition } from '../../../src/records/chunk.ts';
import { useKafka } from '../../support/stack.ts';
import { chunkMessages, clientOf, freshTopic, recordingLog, until, useTools } from './harness.ts';

const kafka = useKafka();
const tools = useTools(kafka);

function readerOf(topic: string, groupId: string, timeoutMs?: number): MessageReader {
  return new MessageReader({
    client: clientOf(kafka().bootstrapServers),
    topic,
    consumerGroup: groupId,
    log: recordingLog(),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

const at = (topic: string, partition: number, offset: number): SourcePosition => ({
  topic,
  partition,
  offset: BigInt(offset),
});

const idOf = (message: RawMessage | undefined) =>
  message?.value ? JSON.parse(Buffer.from(message.value).toString('utf8')).chunk_id : undefined;

async function groupsOf(groupId: string): Promise<string[]> {
  const admin = tools.client.kafka.admin();
  await admin.connect();
  const { groups } = await admin.listGroups();
  await admin.disconnect();
  return groups.map((group) => group.groupId).filter((name) => name.startsWith(groupId));
}

describe('reading messages again', () => {
  it('several of several partitions together, whole, and leaves no group behind', async () => {
    const { topic, groupId } = await freshTopic(tools, 'again', 2);
    await tools.producer.send(topic, [...chunkMessages(2_000, 0, 'a'), ...chunkMessages(50, 1, 'b')]);
    await tools.producer.send(topic, [
      { key: null, value: null, headers: [['rag-scope', Buffer.from('document')]], partition: 1 },
    ]);
    const reader = readerOf(topic, groupId);
    const wanted = [at(topic, 0, 1_999), at(topic, 1, 0), at(topic, 0, 0), at(topic, 0, 700), at(topic, 0, 701)];
    const messages = await Promise.all(wanted.map((position) => reader.read(position)));
    expect(messages.map(idOf)).toEqual(['a1999', 'b0', 'a0', 'a700', 'a701']);
    expect(messages.map((message) => message?.source)).toEqual(wanted);
    const tombstone = await reader.read(at(topic, 1, 50));
    expect(tombstone).toMatchObject({ key: null, value: null, headers: [['rag-scope', Buffer.from('document')]] });
    await reader.close();
    await until('no group is left', async () => (await groupsOf(groupId)).length === 0);
  });

  it('the same position twice is answered twice', async () => {
    const { topic, groupId } = await freshTopic(tools, 'twice');
    await tools.producer.send(topic, chunkMessages(3));
    const reader = readerOf(topic, groupId);
    const both = await Promise.all([reader.read(at(topic, 0, 1)), reader.read(at(topic, 0, 1))]);
    expect(both.map(idOf)).toEqual(['c1', 'c1']);
    await reader.close();
  });

  it('what retention removed, what was never written, and an unknown partition are gone; what is left is read', async () => {
    const { topic, groupId } = await freshTopic(tools, 'gone');
    await tools.producer.send(topic, chunkMessages(10));
    const admin = tools.client.kafka.admin();
    await admin.connect();
    await admin.fetchTopicOffsets(topic); // kafkajs deletes only of topics that this connection has been asked about
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '5' }] });
    await admin.disconnect();
    const reader = readerOf(topic, groupId);
    const wanted = [at(topic, 0, 4), at(topic, 0, 5), at(topic, 0, 10), at(topic, 7, 0)];
    const messages = await Promise.all(wanted.map((position) => reader.read(position)));
    expect(messages.map(idOf)).toEqual([undefined, 'c5', undefined, undefined]);
    await reader.close();
  });

  it('a broker that is away is an outage within the limit, and is read from again when it is back', async () => {
    const { topic, groupId } = await freshTopic(tools, 'away');
    await tools.producer.send(topic, chunkMessages(3));
    const reader = readerOf(topic, groupId, 3_000);
    await kafka().kill('SIGSTOP');
    try {
      await expect(reader.read(at(topic, 0, 1))).rejects.toMatchObject({ failureClass: 'outage' });
    } finally {
      await kafka().kill('SIGCONT');
    }
    await until('it is read again', () =>
      reader.read(at(topic, 0, 1)).then(
        (message) => idOf(message) === 'c1',
        () => false,
      ),
    );
    await reader.close();
  });

  it('a caller that gives up, and a close, are answered at once', async () => {
    const { topic, groupId } = await freshTopic(tools, 'close');
    await tools.producer.send(topic, chunkMessages(3));
    const reader = readerOf(topic, groupId);
    await expect(reader.read(at(topic, 0, 0), AbortSignal.abort())).rejects.toMatchObject({ failureClass: 'outage' });
    const given = reader.read(at(topic, 0, 1)).catch((error: unknown) => error);
    await reader.close();
    expect(await given).toMatchObject({ failureClass: 'outage' });
  });
});
