/** Cases that need a worker, a topic or an engine of their own, against a real broker and a real Redis. */
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { syntheticValues, syntheticVector } from '../../../src/engine/synthetic.ts';
import { KafkaProducer } from '../../../src/kafka/producer.ts';
import type { StoredRow } from '../../../src/sinks/sink.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import { sendZstd } from '../kafka/zstd.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';
import { readLetters } from './letters.ts';
import { contractOf, readStored } from './stored.ts';

const kafka = useKafka();
const redis = useRedis();
let topic: TestTopic;

beforeEach(() => {
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
});

/** On Redis, under a prefix of the topic's own. */
function envOf(target: string, of = topic): Env {
  return {
    ...of.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: `${of.topic}:`,
    RAG_SERVING_WORKER_ID: `cases-${process.pid}`,
  };
}

async function rowsOf(target: string, ids: readonly string[], of = topic): Promise<StoredRow[]> {
  const rows: StoredRow[] = [];
  const choice = { name: 'redis', options: { url: redis().url, keyPrefix: `${of.topic}:` } } as const;
  await readStored(choice, await contractOf(target), ids, (page) => void rows.push(...page));
  return rows;
}

const chunksOf = (name: string, count: number, text = (i: number) => `${name} text ${i}`) =>
  Array.from({ length: count }, (_, i) => ({ chunkId: `${name}#${i}`, documentId: name, text: text(i) }));
const messagesOf = (name: string, count: number) => chunksOf(name, count).map((chunk) => chunkMessage(chunk));

describe('compressed record batches', () => {
  it('chunks of every codec are stored from one partition (K10)', async () => {
    await topic.create(1);
    const codecs = ['none', 'gzip', 'snappy', 'lz4'] as const;
    for (const compression of codecs) {
      const producer = new KafkaProducer({ client: topic.client, compression });
      await producer.send(topic.topic, messagesOf(compression, 20));
      await producer.close();
    }
    await sendZstd(topic.client, topic.topic, messagesOf('zstd', 20));
    await topic.send(messagesOf('after', 1));
    const { target } = await startEngine();
    await startWorker(envOf(target));
    await topic.untilLagZero();
    const expected = [...codecs, 'zstd'].flatMap((codec) => chunksOf(codec, 20)).concat(chunksOf('after', 1));
    const rows = await rowsOf(
      target,
      expected.map(({ chunkId }) => chunkId),
    );
    expect(rows.map(({ text }) => text).toSorted()).toEqual(expected.map(({ text }) => text).toSorted());
  });
});

describe('size of a call', () => {
  it('65 chunks go to a model of at most 32 in calls that it takes, each with its own vector (T12)', async () => {
    await topic.create(1);
    const chunks = chunksOf('t12', 65);
    const items = chunks.map(({ chunkId, text }) => ({ chunk_id: chunkId, text }));
    await topic.send([{ key: 't12', value: JSON.stringify({ chunks: items }) }]);
    const { target } = await startEngine();
    const worker = await startWorker({ ...envOf(target), RAG_SERVING_MODEL_NAME: 'online_embedder_ensemble' });
    await topic.untilLagZero();
    const rows = await rowsOf(
      target,
      chunks.map(({ chunkId }) => chunkId),
    );
    expect(rows).toHaveLength(65);
    for (const { text, vector } of rows) expect(vector).toEqual(syntheticVector(Buffer.from(text ?? ''), 384));
    expect(await worker.metric('rag_serving_batches_total', 'result="ok"')).toBe(3);
    expect(await worker.metric('rag_serving_batches_total', 'result="failed"')).toBe(0);
    expect(await readLetters(topic.client, `${topic.topic}.dlq`)).toEqual([]);
  });

  it('6 MiB of texts and 8 MiB of vectors travel inline in one call (T13)', async () => {
    await topic.create(1);
    const chunks = chunksOf('t13', 256, (i) => `${i} `.padEnd(24 * 1_024, `t13-${i} `));
    // The broker takes about 1 MB a request.
    for (let from = 0; from < 256; from += 32)
      await topic.send(chunks.slice(from, from + 32).map((chunk) => chunkMessage(chunk)));
    const { target } = await startEngine(['--synthetic', '--dims', '16384']);
    const worker = await startWorker({
      ...envOf(target),
      RAG_SERVING_SINK: 'memory',
      RAG_SERVING_SHM_MODE: 'off',
      RAG_SERVING_SHM_SLOT_INPUT_BYTES: String(8 << 20),
      // Long enough for all of them to be fetched: only a full batch is closed before.
      RAG_SERVING_MAX_QUEUE_DELAY_MICROSECONDS: '10000000',
    });
    await topic.untilLagZero();
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(256);
    expect(await worker.metric('rag_serving_batches_total', 'transport="inline"', 'result="ok"')).toBe(1);
    expect(await worker.metric('rag_serving_batches_total', 'result="failed"')).toBe(0);
  });
});

describe('the vector blob in Redis', () => {
  it('has the width of its element type, little-endian, and another width or size is refused at start (S05)', async () => {
    await topic.create(1);
    await topic.send(messagesOf('s05', 1));
    const [chunk] = chunksOf('s05', 1);
    const { target } = await startEngine(['--synthetic', '--dims', '16']);
    const env = { ...envOf(target), RAG_SERVING_REDIS_VECTOR_DTYPE: 'FP32' };
    const worker = await startWorker(env);
    await topic.untilLagZero();
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    const client = new Redis(redis().url);
    const blob = await client.hgetBuffer(`${topic.topic}:chunk:s05#0`, 'vector');
    client.disconnect();
    expect(blob).toHaveLength(16 * 4);
    const exact = syntheticValues(Buffer.from(chunk!.text), 16);
    // The model rounds to FP16, which keeps eleven bits.
    for (const [i, value] of exact.entries()) expect(blob!.readFloatLE(i * 4)).toBeCloseTo(value, 3);

    const narrow = await startWorker({ ...env, RAG_SERVING_REDIS_VECTOR_DTYPE: 'FP16' });
    expect(await narrow.program.exited).toEqual({ code: 1, signal: null });
    expect(narrow.program.output).toMatch(/SINK_SCHEMA_MISMATCH.*keeps vectors as FP32.*would write FP16/);
    const other = await startEngine(['--synthetic', '--dims', '32']);
    const wide = await startWorker({ ...env, RAG_SERVING_BATCH_INGEST_GRPC_URL: other.target });
    expect(await wide.program.exited).toEqual({ code: 1, signal: null });
    expect(wide.program.output).toMatch(/SINK_SCHEMA_MISMATCH.*dims 16\b.*dims 32\b/);
  });
});

describe('topics and groups', () => {
  it('a group shared by workers of two topics is told by name, and who gets nothing is not ready (K11)', async () => {
    const second = new TestTopic(kafka().bootstrapServers);
    try {
      await topic.create(1);
      await second.create(1);
      await topic.send(messagesOf('k11-one', 10));
      await second.send(messagesOf('k11-two', 10));
      const { target } = await startEngine();
      const env = { KAFKA_CONSUMER_GROUP: topic.group };
      const workers = [
        await startWorker({ ...envOf(target), RAG_SERVING_WORKER_ID: 'k11-one' }),
        await startWorker({ ...envOf(target, second), ...env, RAG_SERVING_WORKER_ID: 'k11-two' }),
      ];
      const told = ({ msg }: { readonly msg?: unknown }) => msg === 'consumer group is shared with another topic';
      await Promise.any(workers.map((worker) => worker.program.line(told)));
      for (const worker of workers) {
        await eventually('fed, or not ready', async () => {
          const fed = (await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')) === 10;
          const { status, body } = await worker.ready();
          const reason = body.checks.find(({ name }) => name === 'consumer')?.reason ?? '';
          const named = [topic.group, topic.topic, second.topic].every((name) => reason.includes(name));
          return fed || (status === 503 && named);
        });
      }
    } finally {
      await second.close();
    }
  });

  it('a topic that is deleted under a worker makes it not ready; made anew, it is read (K08)', async () => {
    await topic.create(1);
    await topic.send(messagesOf('k08', 5));
    const { target } = await startEngine();
    const worker = await startWorker(envOf(target));
    await topic.untilLagZero();
    const admin = topic.client.kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [topic.topic] });
    await eventually('not ready', async () => (await worker.ready()).status === 503, 60_000);
    const { body } = await worker.ready();
    expect(body.checks.find(({ name }) => name === 'consumer')).toMatchObject({ ok: false });
    await admin.createTopics({ topics: [{ topic: topic.topic, numPartitions: 1 }] });
    await admin.disconnect();
    await topic.send(messagesOf('k08-again', 7));
    await eventually('ready again', async () => (await worker.ready()).status === 200, 60_000);
    await eventually(
      'the new ones',
      async () => (await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')) === 12,
      60_000,
    );
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
  });
});
