/** A whole worker with PostgreSQL as its store, alone and beside Redis: away, refusing, deleting, killed. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SinkChoice } from '../../../src/sinks/registry.ts';
import { useKafka, usePostgres, useRedis } from '../../support/stack.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';
import { readLetters } from './letters.ts';
import { contractOf, readStored } from './stored.ts';

const kafka = useKafka();
const postgres = usePostgres();
const redis = useRedis({ appendonly: true });
let topic: TestTopic;
let table: string;

beforeEach(() => {
  topic = new TestTopic(kafka().bootstrapServers);
  table = topic.topic.replaceAll('.', '_');
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
});

function envOf(target: string, sink: string): Env {
  return {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: sink,
    RAG_SERVING_PGVECTOR_URL: postgres().url,
    RAG_SERVING_PGVECTOR_TABLE: table,
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: `${table}:`,
  };
}

async function idsIn(choice: SinkChoice, target: string, ids: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  const counted = await readStored(choice, await contractOf(target), ids, (rows) => {
    for (const { chunkId } of rows) found.add(chunkId);
  });
  expect(counted).toBe(found.size);
  return found;
}

const inPostgres = (): SinkChoice => ({ name: 'pgvector', options: { url: postgres().url, table } });
const inRedis = (): SinkChoice => ({ name: 'redis', options: { url: redis().url, keyPrefix: `${table}:` } });
const messageOf = (id: string) => chunkMessage({ chunkId: id, documentId: id, text: `${id} some words` });

it('PostgreSQL killed in the middle and a worker killed beside it: every chunk is stored once, none is blamed', async () => {
  await topic.create(4);
  const ids = Array.from({ length: 4_000 }, (_, i) => `pg#${i}`);
  const { target } = await startEngine();
  const first = await startWorker(envOf(target, 'pgvector'));
  await topic.send(ids.slice(0, 2_000).map(messageOf));
  await eventually(
    'first rows',
    async () => (await first.metric('rag_serving_chunks_total', 'outcome="persisted"')) > 0,
  );
  await postgres().kill('SIGKILL');
  await topic.send(ids.slice(2_000).map(messageOf));
  await eventually('not ready', async () => {
    const { status, body } = await first.ready();
    return status === 503 && body.checks.some(({ name, ok }) => name === 'store' && !ok);
  });
  await first.program.kill();
  const second = await startWorker(envOf(target, 'pgvector'));
  await postgres().restart();
  await topic.untilLagZero();
  expect(await idsIn(inPostgres(), target, ids)).toEqual(new Set(ids));
  expect(await readLetters(topic.client, `${topic.topic}.dlq`)).toEqual([]);
  expect(await second.stop()).toEqual({ code: 0, signal: null });
});

it('redis,pgvector: both hold every chunk after one of them was away, and both forget a deleted one', async () => {
  await topic.create(2);
  const ids = Array.from({ length: 500 }, (_, i) => `both#${i}`);
  const { target } = await startEngine();
  const worker = await startWorker(envOf(target, 'redis,pgvector'));
  await worker.program.line(({ msg }) => msg === 'store is open');
  await redis().kill('SIGKILL');
  await topic.send(ids.map(messageOf));
  await eventually('not ready', async () => (await worker.ready()).status === 503);
  await redis().restart();
  await topic.untilLagZero();
  await topic.send([{ key: 'both#7', value: null }]);
  await topic.untilLagZero();
  const left = new Set(ids.filter((id) => id !== 'both#7'));
  expect(await idsIn(inPostgres(), target, ids)).toEqual(left);
  expect(await idsIn(inRedis(), target, ids)).toEqual(left);
  expect(await worker.stop()).toEqual({ code: 0, signal: null });
});
