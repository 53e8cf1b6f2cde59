/** 20,000 chunks of 1 byte to 64 KiB and beyond: each stored once, with its own vector to the last bit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { syntheticVector } from '../../../src/engine/synthetic.ts';
import type { SinkChoice } from '../../../src/sinks/registry.ts';
import type { StoredRow } from '../../../src/sinks/sink.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import { corpus, cutUtf8, messagesOf, sha256Hex } from './corpus.ts';
import { expectNoDeadLetters, shmFilesOf } from './evidence.ts';
import { type Env, endPrograms, startEngine, startWorker, type TestChunk, TestTopic } from './harness.ts';
import { contractOf, readStored } from './stored.ts';

const COUNT = 20_000;
const PARTITIONS = 6;
const MAX_TEXT_BYTES = 65_536;
const ID = 'volume-test';

const kafka = useKafka();
const redis = useRedis();
const chunks = corpus({ count: COUNT, seed: 20_000, medianBytes: 220, maxBytes: MAX_TEXT_BYTES });
const byId = new Map(chunks.map((chunk) => [chunk.chunkId, chunk]));
let folder: string;
let topic: TestTopic;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-volume-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What is wrong with a row, in words without its text; undefined when it is what the chunk must become. */
function faultOf(row: StoredRow, dims: number, fingerprint: string): string | undefined {
  const chunk = byId.get(row.chunkId) as TestChunk;
  const text = cutUtf8(chunk.text, MAX_TEXT_BYTES);
  const expected: Record<string, unknown> = {
    documentId: chunk.documentId,
    textSha256: sha256Hex(text),
    truncated: text !== chunk.text,
    fingerprint,
  };
  for (const [field, value] of Object.entries(expected)) {
    if (row[field as keyof StoredRow] !== value) return `${row.chunkId}: ${field}`;
  }
  if (row.text !== text) return `${row.chunkId}: text`;
  if (!Buffer.from(row.vector).equals(syntheticVector(Buffer.from(text, 'utf8'), dims)))
    return `${row.chunkId}: vector`;
  return undefined;
}

async function embedAll(env: Env, choice: SinkChoice): Promise<void> {
  await topic.create(PARTITIONS);
  for (const part of messagesOf(chunks)) await topic.send(part);
  const engine = await startEngine();
  const worker = await startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_WORKER_ID: ID,
    ...env,
  });
  await topic.untilLagZero(100_000);

  expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(COUNT);
  expect(await worker.metric('rag_serving_chunks_total')).toBe(COUNT);
  expect(await worker.metric('rag_serving_dead_letters_total')).toBe(0);
  await expectNoDeadLetters(topic);
  expect(await worker.metric('rag_serving_batches_total', 'transport="shared_memory"')).toBeGreaterThan(COUNT / 256);
  expect(await worker.metric('rag_serving_batches_total')).toBe(
    await worker.metric('rag_serving_batches_total', 'transport="shared_memory"', 'result="ok"'),
  );
  expect(await worker.stop()).toEqual({ code: 0, signal: null });
  expect(await topic.lag()).toBe(0);
  expect(shmFilesOf(ID)).toEqual([]);

  const contract = await contractOf(engine.target);
  const seen = new Set<string>();
  const sources = new Set<string>();
  const faults: string[] = [];
  const count = await readStored(choice, contract, [...byId.keys()], (rows) => {
    for (const row of rows) {
      seen.add(row.chunkId);
      sources.add(`${row.source.topic}/${row.source.partition}`);
      const fault = faultOf(row, contract.dims, contract.fingerprint);
      if (fault !== undefined) faults.push(fault);
    }
  });
  expect(faults.slice(0, 20)).toEqual([]);
  expect({ count, distinct: seen.size, partitions: sources.size }).toEqual({
    count: COUNT,
    distinct: COUNT,
    partitions: PARTITIONS,
  });
}

describe(`${COUNT} chunks of mixed lengths on ${PARTITIONS} partitions`, () => {
  it('are of every length and script', () => {
    const sizes = chunks.map(({ text }) => Buffer.byteLength(text));
    expect(Math.min(...sizes)).toBe(1);
    expect(sizes.filter((size) => size === MAX_TEXT_BYTES).length).toBeGreaterThan(0);
    expect(sizes.filter((size) => size > MAX_TEXT_BYTES).length).toBeGreaterThan(6);
    for (const script of [
      /^[ -~]+$/,
      /^\p{Script=Han}+x*$/u,
      /^(\p{Extended_Pictographic}|\p{Emoji_Component})+x*$/u,
      /\p{Script=Arabic}/u,
    ]) {
      expect(chunks.filter(({ text }) => script.test(text)).length).toBeGreaterThan(COUNT / 50);
    }
    expect(byId.size).toBe(COUNT);
  });

  it('are each stored once in LanceDB, vectors right bit for bit, all through shared memory', async () => {
    await embedAll(
      { RAG_SERVING_SINK: 'lancedb', RAG_SERVING_LANCEDB_PATH: folder },
      { name: 'lancedb', options: { uri: folder, table: 'chunks' } },
    );
  });

  it('are each stored once in Redis, vectors right bit for bit, all through shared memory', async () => {
    await embedAll(
      { RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: redis().url, RAG_SERVING_REDIS_KEY_PREFIX: 'volume:' },
      { name: 'redis', options: { url: redis().url, keyPrefix: 'volume:' } },
    );
  });
});
