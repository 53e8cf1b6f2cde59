import { describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { DeadLetter } from '../../../src/kafka/dead-letter.ts';
import { createDeadLetters } from '../../../src/kafka/dead-letters.ts';
import { headerText } from '../../../src/kafka/headers.ts';
import { useKafka } from '../../support/stack.ts';
import { freshName, freshTopic, recordingLog, startSource, until, useTools } from './harness.ts';

const kafka = useKafka();
const tools = useTools(kafka);

const deadLetters = (topic: string, more: object = {}) =>
  createDeadLetters({ client: tools.client, topic: `${topic}.dlq`, workerId: 'w-1', log: recordingLog(), ...more });
const error = new ServingError('CHUNK_INVALID', 'text: expected a string, got a number');

async function readBack(topic: string, count: number) {
  const run = await startSource(kafka().bootstrapServers, { topic: `${topic}.dlq`, groupId: freshName('reader') });
  await until(`${count} letters`, () => run.records.length >= count);
  return run.records.map(({ raw }) => raw);
}

describe('dead letters', () => {
  it('a record read, buried, replayed and buried again keeps its bytes and has one set of rag-dlq headers', async () => {
    const { topic, groupId } = await freshTopic(tools, 'source');
    const bytes = Buffer.from([0x00, 0xff, 0xfe, 0x7b]);
    const headers = [
      ['constructor', bytes],
      ['__proto__', Buffer.from('p')],
      ['x', Buffer.from('1')],
      ['x', Buffer.from('2')],
    ] as const;
    await tools.producer.send(topic, [{ key: bytes, value: bytes, headers }]);
    const run = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('the record', () => run.records.length === 1);
    const letters = deadLetters(topic);
    const letter = (raw: DeadLetter['raw'], attempts: number): DeadLetter => ({
      raw,
      index: 3,
      error,
      stage: 'decode',
      attempts,
    });
    await letters.send([letter(run.records[0]!.raw, 1)]);
    const [first] = await readBack(topic, 1);
    await tools.producer.send(topic, [{ key: first!.key, value: first!.value, headers: first!.headers }]);
    await until('the replay', () => run.records.length === 2);
    await letters.send([letter(run.records[1]!.raw, 2)]);
    const [, second] = await readBack(topic, 2);
    expect([second!.key, second!.value]).toEqual([bytes, bytes]);
    const names = second!.headers.map(([name]) => name);
    expect(names.filter((name) => name.startsWith('rag-dlq-'))).toEqual(
      ['code', 'reason', 'stage', 'attempts', 'origin', 'at', 'worker', 'index'].map((name) => `rag-dlq-${name}`),
    );
    expect(names.slice(0, 4)).toEqual(['constructor', '__proto__', 'x', 'x']);
    const told = ['code', 'stage', 'attempts', 'origin', 'worker', 'index'].map((name) =>
      headerText(second!.headers, `rag-dlq-${name}`),
    );
    expect(told).toEqual(['CHUNK_INVALID', 'decode', '2', `${topic}/0/1`, 'w-1', '3']);
    await letters.close();
  });

  it('a null key, a null value and a null header value go through', async () => {
    const { topic } = await freshTopic(tools, 'nulls');
    const raw = {
      source: { topic, partition: 0, offset: 7n },
      key: null,
      value: null,
      headers: [['n', null]] as const,
      timestampMs: 1,
    };
    const letters = deadLetters(topic);
    await letters.send([{ raw, index: undefined, error, stage: 'persist', attempts: 1 }]);
    const [letter] = await readBack(topic, 1);
    expect([letter!.key, letter!.value, letter!.headers[0]]).toEqual([null, null, ['n', Buffer.alloc(0)]]);
    await letters.close();
  });

  it('more than one request holds is split, and a broker that takes less gets it shorter', async () => {
    const topic = freshName('tight');
    await tools.admin.ensureTopic(`${topic}.dlq`, { partitions: 1, configEntries: { 'max.message.bytes': '40000' } });
    const raw = (size: number) => ({
      source: { topic, partition: 0, offset: 0n },
      key: null,
      value: Buffer.alloc(size, 120),
      headers: [],
      timestampMs: 1,
    });
    const letters = deadLetters(topic, { maxRequestBytes: 100_000 });
    const letter = (size: number): DeadLetter => ({
      raw: raw(size),
      index: undefined,
      error,
      stage: 'embed',
      attempts: 3,
    });
    await letters.send([letter(30_000), letter(90_000), letter(30_000), letter(30_000)]);
    const back = await readBack(topic, 4);
    const sizes = back.map(({ value, headers }) => [
      value!.byteLength > 30_000 ? 'more' : value!.byteLength,
      headerText(headers, 'rag-dlq-cut'),
    ]);
    expect(sizes.filter(([, cut]) => cut === undefined)).toEqual([
      [30_000, undefined],
      [30_000, undefined],
      [30_000, undefined],
    ]);
    const cut = sizes.filter(([, original]) => original !== undefined);
    expect(cut).toEqual([[expect.any(Number), '90000']]);
    await letters.close();
  });

  it('a large message with many bad chunks is copied only so often: one letter a chunk, the first ones whole', async () => {
    const topic = freshName('many');
    const value = Buffer.alloc(900_000, 120);
    const raw = { source: { topic, partition: 0, offset: 0n }, key: null, value, headers: [], timestampMs: 1 };
    const other = { ...raw, source: { ...raw.source, offset: 1n } };
    const letters = deadLetters(topic);
    const of =
      (message: typeof raw) =>
      (_: unknown, index: number): DeadLetter => {
        return { raw: message, index, error, stage: 'decode', attempts: 1 };
      };
    await letters.send(Array.from({ length: 200 }, of(raw)));
    await letters.send([...Array.from({ length: 10 }, of(raw)), ...Array.from({ length: 2 }, of(other))]);
    const back = await readBack(topic, 212);
    const whole = back.map((one) => one.value?.byteLength === value.byteLength);
    expect(whole.map((is, i) => (is ? i : -1)).filter((i) => i >= 0)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 210, 211]);
    expect(headerText(back[100]!.headers, 'rag-dlq-cut')).toBe('900000');
    expect(headerText(back[100]!.headers, 'rag-dlq-index')).toBe('100');
    expect(back.reduce((sum, one) => sum + (one.value?.byteLength ?? 0), 0)).toBeLessThan(12_000_000);
    await letters.close();
  });

  it('a topic that is deleted between two letters is made again', async () => {
    const topic = freshName('gone');
    const raw = { source: { topic, partition: 0, offset: 0n }, key: null, value: null, headers: [], timestampMs: 1 };
    const letters = deadLetters(topic);
    const send = () => letters.send([{ raw, index: undefined, error, stage: 'embed', attempts: 1 }]);
    await send();
    const admin = tools.client.kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${topic}.dlq`] });
    await admin.disconnect();
    // As the pipeline does it: an outage is tried again.
    await until('sent', () =>
      send().then(
        () => true,
        (failure) => {
          expect(failure).toMatchObject({ failureClass: 'outage' });
          return false;
        },
      ),
    );
    expect(await readBack(topic, 1)).toHaveLength(1);
    await letters.close();
  });

  it('without the right to make the topic, a missing one is one clear error', async () => {
    const topic = freshName('nowhere');
    const letters = deadLetters(topic, { createTopic: false });
    const raw = { source: { topic, partition: 0, offset: 0n }, key: null, value: null, headers: [], timestampMs: 1 };
    await expect(letters.send([{ raw, index: undefined, error, stage: 'embed', attempts: 1 }])).rejects.toMatchObject({
      code: 'KAFKA_TOPIC_UNKNOWN',
      message: expect.stringContaining(`${topic}.dlq`),
    });
    await letters.close();
  });
});
