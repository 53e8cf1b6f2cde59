/** What the store holds of a real model, against the same model computed in Python without this project. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readEngineConfig } from '../../../src/config/programs.ts';
import { decodeFp16 } from '../../../src/kserve/fp16.ts';
import { cosine, referenceEmbeddings } from '../../support/reference-embeddings.ts';
import { useKafka, useTriton } from '../../support/stack.ts';
import { seededRandom, sha256Hex } from './corpus.ts';
import { diverseTexts } from './diverse-texts.ts';
import {
  chunkMessage,
  endPrograms,
  startEngine,
  startWorker,
  type TestChunk,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';
import { contractOf, readStored } from './stored.ts';

const WORST_COSINE = 0.9995;

const kafka = useKafka();
const triton = useTriton({ models: ['batch_embedder_ensemble'] });
const texts = diverseTexts();
let reference: number[][];
let folder: string;
let topic: TestTopic;

beforeAll(async () => {
  reference = await referenceEmbeddings(texts, readEngineConfig(process.env).cacheDir);
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-real-model-'));
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(1);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

function workerOn(target: string): Promise<WorkerProcess> {
  return startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_LANCEDB_PATH: folder,
    // A group of texts that is sent at once is one batch, however slow the machine is.
    RAG_SERVING_MAX_QUEUE_DELAY_MICROSECONDS: '1000000',
  });
}

async function vectorsOf(target: string, chunks: readonly TestChunk[]): Promise<Float32Array[]> {
  const vectors = new Map<string, Float32Array>();
  const ids = chunks.map(({ chunkId }) => chunkId);
  const choice = { name: 'lancedb', options: { uri: folder, table: 'chunks' } } as const;
  await readStored(choice, await contractOf(target), ids, (rows) => {
    for (const { chunkId, vector } of rows) vectors.set(chunkId, decodeFp16(vector));
  });
  return ids.map((id) => vectors.get(id)!);
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = seededRandom(seed);
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const chunkOf = (text: string, i: number): TestChunk => ({ chunkId: `text-${i}`, documentId: `text-${i}`, text });

const engines = [
  ['the embedded engine', async () => (await startEngine([])).target],
  ['a real Triton', async () => triton().grpcUrl],
] as const;

describe.each(engines)('%s', (_, start) => {
  it('gives 100 diverse texts in any order the vectors of the Python reference: cosine ≥ 0.9995 as stored', async () => {
    expect(new Set(texts.map(sha256Hex)).size).toBe(100);
    const chunks = texts.map(chunkOf);
    await topic.send(shuffled(chunks, 100).map((chunk) => chunkMessage(chunk)));
    const target = await start();
    const worker = await workerOn(target);
    await topic.untilLagZero(100_000);
    expect(await worker.metric('rag_serving_batches_total', 'transport="shared_memory"')).toBe(1);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    const vectors = await vectorsOf(target, chunks);
    const cosines = vectors.map((vector, i) => ({ i, cosine: cosine(vector, reference[i]!) }));
    expect(cosines.filter(({ cosine }) => !(cosine >= WORST_COSINE))).toEqual([]);
  });

  it('gives a short text the same vector alone and beside long ones: padding does not leak (X03)', async () => {
    const short = 'three short tokens';
    // Long enough to pad the short one more than tenfold, short enough to share its micro-batch.
    const long = Array.from({ length: 11 }, (_, i) => `a sentence ${i} that goes on and on, `.repeat(8));
    const alone = chunkOf(short, 0);
    const beside = [...long.slice(0, 5), short, ...long.slice(5)].map((text, i) => chunkOf(text, i + 1));
    const target = await start();
    const worker = await workerOn(target);
    await topic.send([chunkMessage(alone)]);
    await topic.untilLagZero();
    await topic.send(beside.map((chunk) => chunkMessage(chunk)));
    await topic.untilLagZero();
    expect(await worker.metric('rag_serving_batches_total', 'transport="shared_memory"')).toBe(2);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    const [first, ...others] = await vectorsOf(target, [alone, ...beside]);
    const second = others[5]!;
    expect(cosine(first!, second)).toBeGreaterThanOrEqual(0.99999);
    for (const [i, other] of others.entries()) if (i !== 5) expect(cosine(first!, other)).toBeLessThan(0.9);
  });
});
