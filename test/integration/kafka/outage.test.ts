import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunningKafka } from '../../../scripts/stack/kafka.ts';
import { Secret } from '../../../src/config/secret.ts';
import { createKafkaClient } from '../../../src/kafka/client.ts';
import { createKafkaSource } from '../../../src/kafka/kafka-source.ts';
import { useKafka } from '../../support/stack.ts';
import {
  chunkMessages,
  closeAll,
  committedOffset,
  freshName,
  freshTopic,
  offsetsOf,
  recordingLog,
  startSource,
  toolsFor,
  until,
} from './harness.ts';

const SASL = { username: 'worker', password: 'right-password' };
const broker = useKafka({ sasl: SASL });
let kafka: RunningKafka;
beforeAll(() => {
  kafka = broker();
});
afterEach(closeAll);

describe('the broker goes away for a while', () => {
  it('reading and commits go on by themselves, nothing is lost, and work under way is not read again', async () => {
    const before = toolsFor(kafka.bootstrapServers);
    const { topic, groupId } = await freshTopic(before, 'outage', 2);
    for (const partition of [0, 1]) await before.producer.send(topic, chunkMessages(20, partition));
    const run = await startSource(kafka.bootstrapServers, {
      topic,
      groupId,
      settleAtOnce: false,
      sessionTimeoutMs: 30_000,
    });
    await until('forty records', () => run.records.length === 40);
    await before.close();
    await kafka.kill('SIGTERM');
    // Half of it ends while the broker is away: the outcomes must not be forgotten.
    for (const record of run.records.slice(0, 20)) run.settle(record);
    await expect(run.source.commit(AbortSignal.timeout(1_000))).rejects.toMatchObject({ failureClass: 'outage' });
    await until(
      'told that the broker is silent',
      () => run.source.status().reason?.includes('no sign of life') === true,
    );
    expect(run.source.status().joined).toBe(false);
    await kafka.restart();
    const after = toolsFor(kafka.bootstrapServers);
    for (const partition of [0, 1]) await after.producer.send(topic, chunkMessages(1, partition));
    await until('the new records', () => run.records.length >= 42, 30_000);
    expect(offsetsOf(run.records, 0)).toEqual(Array.from({ length: 21 }, (_, i) => BigInt(i)));
    expect(offsetsOf(run.records, 1)).toEqual(Array.from({ length: 21 }, (_, i) => BigInt(i)));
    run.settleAll();
    await run.source.commit();
    for (const partition of [0, 1]) expect(await committedOffset(after, groupId, topic, partition)).toBe(21n);
    expect(run.fatal).toEqual([]);
    expect(run.source.status()).toMatchObject({ joined: true, reason: undefined });
    await after.close();
  });
});

describe('the topic', () => {
  it('that is missing is told and waited for', async () => {
    const tools = toolsFor(kafka.bootstrapServers);
    const topic = freshName('missing');
    const run = await startSource(kafka.bootstrapServers, { topic, groupId: freshName('group') });
    await until('told', () => run.source.status().reason?.includes('KAFKA_TOPIC_UNKNOWN') === true);
    expect(run.source.status()).toMatchObject({ joined: false, reason: expect.stringContaining(topic) });
    await tools.admin.ensureTopic(topic, { partitions: 1 });
    await tools.producer.send(topic, chunkMessages(3));
    await until('read', () => run.records.length === 3);
    expect(run.source.status()).toMatchObject({ joined: true, reason: undefined });
    await tools.close();
  });

  it('that is deleted while it is read does not leave a worker that looks well (K08)', async () => {
    const tools = toolsFor(kafka.bootstrapServers);
    const { topic, groupId } = await freshTopic(tools, 'deleted');
    await tools.producer.send(topic, chunkMessages(3));
    const run = await startSource(kafka.bootstrapServers, { topic, groupId });
    await until('read', () => run.records.length === 3);
    const admin = tools.client.kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [topic] });
    await admin.disconnect();
    await until('told', () => run.source.status().reason?.includes('KAFKA_TOPIC_UNKNOWN') === true, 30_000);
    expect(run.source.status().joined).toBe(false);
    expect(run.revoked).toEqual([[{ topic, partition: 0 }]]);

    // A topic of the same name is another log: its first offsets must not pass for those that are done.
    await tools.admin.ensureTopic(topic, { partitions: 1 });
    await tools.producer.send(topic, chunkMessages(5));
    await until('read from its beginning', () => run.records.length === 8, 30_000);
    expect(offsetsOf(run.records).slice(3)).toEqual([0n, 1n, 2n, 3n, 4n]);
    await tools.close();
  });
});

describe('credentials', () => {
  const client = (password: string) =>
    createKafkaClient({
      bootstrapServers: [kafka.securedServers],
      sasl: { mechanism: 'SCRAM-SHA-256', username: SASL.username, password: new Secret(password) },
      tls: undefined,
      clientId: 'test',
      log: recordingLog(),
    });
  const source = (password: string, topic: string) =>
    createKafkaSource({
      client: client(password),
      topic,
      groupId: freshName('group'),
      decode: { maxTextBytes: 65_536, oversizedText: 'cut', keepUnknownFields: false },
      flow: { maxInFlightChunks: 100, maxInFlightBytes: 1_048_576, lowRatio: 0.5 },
      commitIntervalMs: 200,
      log: recordingLog(),
    });
  const handler = (fatal: Error[]) => ({
    onRecords: () => {},
    onAssigned: () => {},
    onRevoked: () => {},
    onFatal: (error: Error) => void fatal.push(error),
  });

  it('that are refused end in one fatal error without the password', async () => {
    const fatal: Error[] = [];
    const refused = source('wrong-password', 'any');
    await refused.start(handler(fatal));
    await until('fatal', () => fatal.length > 0);
    expect(fatal).toMatchObject([{ code: 'KAFKA_ACCESS_DENIED' }]);
    expect(refused.status().joined).toBe(false);
    expect(JSON.stringify([String(fatal[0]), refused.status()])).not.toContain('wrong-password');
    await refused.close();
  });

  it('that are right let it join over SCRAM', async () => {
    const tools = toolsFor(kafka.bootstrapServers);
    const { topic } = await freshTopic(tools, 'scram');
    const fatal: Error[] = [];
    const accepted = source(SASL.password, topic);
    await accepted.start(handler(fatal));
    await until('joined', () => accepted.status().joined);
    await accepted.close();
    expect(fatal).toEqual([]);
    await tools.close();
  });
});
