import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import {
  chunkMessage,
  chunkMessages,
  committedOffset,
  freshTopic,
  offsetsOf,
  startSource,
  until,
  useTools,
} from './harness.ts';

const kafka = useKafka({ maxMessageBytes: 4_194_304 });
const tools = useTools(kafka);

describe('what is in flight', () => {
  it('never passes the limit while a slow pipeline settles, and no offset is skipped', async () => {
    const { topic, groupId } = await freshTopic(tools, 'bound', 3);
    for (const partition of [0, 1, 2]) await tools.producer.send(topic, chunkMessages(1_500, partition));
    const flow = { maxInFlightChunks: 200, maxInFlightBytes: 1_048_576, lowRatio: 0.5 };
    const run = await startSource(kafka().bootstrapServers, {
      topic,
      groupId,
      flow,
      settleAtOnce: false,
      fetchMaxWaitMs: 20,
    });
    await until('the limit is reached', () => run.source.status().inFlightChunks === 200);
    expect(run.source.status().paused).toEqual(['in-flight limit']);
    await until('all records', () => {
      // Some of what is open, in no particular order: as a pipeline with several batches does.
      for (const record of [...run.open].reverse().slice(0, 90)) run.settle(record);
      return run.records.length >= 4_500;
    });
    run.settleAll();
    expect(run.peakChunks()).toBe(200);
    for (const partition of [0, 1, 2]) {
      expect(offsetsOf(run.records, partition)).toEqual(Array.from({ length: 1_500 }, (_, i) => BigInt(i)));
    }
    await run.source.close();
    for (const partition of [0, 1, 2]) expect(await committedOffset(tools, groupId, topic, partition)).toBe(1_500n);
  });

  it('the first partition does not starve the last', async () => {
    const { topic, groupId } = await freshTopic(tools, 'fair', 3);
    for (const partition of [0, 1, 2]) await tools.producer.send(topic, chunkMessages(1_000, partition));
    const flow = { maxInFlightChunks: 120, maxInFlightBytes: 1_048_576, lowRatio: 0.5 };
    const run = await startSource(kafka().bootstrapServers, {
      topic,
      groupId,
      flow,
      settleAtOnce: false,
      fetchMaxWaitMs: 20,
    });
    await until('some of each', () => {
      for (const record of [...run.open].slice(0, 30)) run.settle(record);
      return [0, 1, 2].every((partition) => offsetsOf(run.records, partition).length > 50);
    });
    expect(offsetsOf(run.records, 0).length).toBeLessThan(1_000);
  });

  it('a message larger than the whole budget passes alone, and the small ones behind it come too (K12)', async () => {
    const { topic, groupId } = await freshTopic(tools, 'large');
    await tools.producer.send(topic, [chunkMessage('small')]);
    await tools.producer.send(topic, [chunkMessage('large', 'x'.repeat(1_048_576))]);
    await tools.producer.send(topic, chunkMessages(5));
    const flow = { maxInFlightChunks: 100, maxInFlightBytes: 100_000, lowRatio: 0.5 };
    const run = await startSource(kafka().bootstrapServers, { topic, groupId, flow, settleAtOnce: false });
    await until('the small one', () => run.records.length === 1);
    await sleep(500);
    expect(run.records).toHaveLength(1);
    run.settleAll();
    await until('the large one alone', () => run.records.length === 2);
    expect(run.records[1]).toMatchObject({ kind: 'chunk', chunk: { chunkId: 'large', truncated: true } });
    await sleep(500);
    expect(run.records).toHaveLength(2);
    run.settleAll();
    await until('those behind it', () => run.records.length === 7);
  });

  it('pause reasons add up, and hold back what was fetched before', async () => {
    const { topic, groupId } = await freshTopic(tools, 'reasons');
    const run = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('joined', () => run.source.status().joined);
    run.source.pause('sink');
    run.source.pause('engine');
    await tools.producer.send(topic, chunkMessages(3));
    run.source.resume('sink');
    await sleep(600);
    expect(run.records).toEqual([]);
    expect(run.source.status().paused).toEqual(['engine']);
    run.source.resume('engine');
    await until('three records', () => run.records.length === 3);
  });
});

describe('messages of all kinds', () => {
  it('tombstones, poison and repeated headers each become what they are, and the offsets move on (K16, K17)', async () => {
    const { topic, groupId } = await freshTopic(tools, 'kinds');
    const header = (name: string, value: string) => [name, Buffer.from(value)] as const;
    await tools.producer.send(topic, [
      { key: 'doc-1', value: null },
      { key: null, value: null },
      { key: 'doc-2', value: Buffer.alloc(0) },
      { key: 'doc-3', value: null, headers: [header('rag-scope', 'document')] },
      chunkMessage('valid', 'x', {
        headers: [
          header('x-attempt', '1'),
          header('x-attempt', '2'),
          header('constructor', 'c'),
          header('__proto__', 'p'),
          header('toString', 's'),
        ],
      }),
    ]);
    const { records, source, fatal } = await startSource(kafka().bootstrapServers, { topic, groupId });
    await until('five records', () => records.length === 5);
    expect(records.map((record) => record.kind)).toEqual(['deletion', 'reject', 'reject', 'deletion', 'chunk']);
    expect(records[3]).toMatchObject({ deletion: { scope: 'document', id: 'doc-3' } });
    const headers = records[4]!.raw.headers.map(([name, value]) => `${name}=${value}`);
    expect(headers).toEqual(['x-attempt=1', 'x-attempt=2', 'constructor=c', '__proto__=p', 'toString=s']);
    await source.commit();
    expect(await committedOffset(tools, groupId, topic)).toBe(5n);
    expect(fatal).toEqual([]);
  });

  it('fifty poison messages in a row come in one go, with the good one behind them (K18)', async () => {
    const { topic, groupId } = await freshTopic(tools, 'poison');
    const poison = Array.from({ length: 50 }, (_, i) => ({ key: `${i}`, value: '{"text":' }));
    await tools.producer.send(topic, [...poison, chunkMessage('good')]);
    const run = await startSource(kafka().bootstrapServers, { topic, groupId, settleAtOnce: false });
    await until('all', () => run.records.length > 0);
    expect(run.records.map((record) => record.kind)).toEqual([...Array(50).fill('reject'), 'chunk']);
  });

  it('a batch message settles when its last chunk does', async () => {
    const { topic, groupId } = await freshTopic(tools, 'batch');
    const chunks = [
      { chunk_id: 'a', text: 'one' },
      { chunk_id: 'b', text: 5 },
      { chunk_id: 'c', text: 'three' },
    ];
    await tools.producer.send(topic, [{ key: 'd', value: JSON.stringify({ chunks }) }]);
    const run = await startSource(kafka().bootstrapServers, { topic, groupId, settleAtOnce: false });
    await until('three records', () => run.records.length === 3);
    expect(run.records.map((record) => record.kind)).toEqual(['chunk', 'reject', 'chunk']);
    run.settle(run.records[0]!);
    run.settle(run.records[1]!);
    await run.source.commit();
    expect(await committedOffset(tools, groupId, topic)).toBe(0n);
    run.settle(run.records[2]!);
    await run.source.commit();
    expect(await committedOffset(tools, groupId, topic)).toBe(1n);
  });
});
