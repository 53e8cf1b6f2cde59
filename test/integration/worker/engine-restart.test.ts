/** An engine that ends in mid-stream and comes back as another: a real Triton, and one that no longer takes shared memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka, useTriton } from '../../support/stack.ts';
import { expectExactlyStored, expectNoDeadLetters, lancedbAt, shmFilesOf } from './evidence.ts';
import {
  chunkMessage,
  type EngineProcess,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  type TestChunk,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';
import { contractOf, storedVectors } from './stored.ts';

const ID = 'engine-restart-test';

const kafka = useKafka();
let folder: string;
let topic: TestTopic;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-engine-restart-'));
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(3);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

function workerOn(target: string, env: Env = {}): Promise<WorkerProcess> {
  return startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_WORKER_ID: ID,
    RAG_SERVING_LANCEDB_PATH: folder,
    RAG_SERVING_MAX_BATCH_SIZE: '32',
    ...env,
  });
}

const persisted = (worker: WorkerProcess) => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
const untilPersisted = (worker: WorkerProcess, count: number) =>
  eventually(`${count} chunks stored`, async () => (await persisted(worker)) >= count);
const inlineBatches = (worker: WorkerProcess) =>
  worker.metric('rag_serving_batches_total', 'transport="inline"', 'result="ok"');

describe('a real Triton, killed in mid-stream and started again', () => {
  const COUNT = 2_000;
  const triton = useTriton({ models: ['batch_embedder_ensemble'] });
  // Each text comes twice, far apart: once it is embedded by the first Triton, once by the second.
  const chunks: TestChunk[] = Array.from({ length: COUNT }, (_, i) => ({
    chunkId: `chunk-${i}`,
    documentId: `document-${i % 50}`,
    text: `note ${i % (COUNT / 2)} of the harbour master`,
  }));

  it('gets its region again; nothing is lost, and the same text has the same vector before and after (T01)', async () => {
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const worker = await workerOn(triton().grpcUrl);
    await untilPersisted(worker, 300);
    await triton().kill();
    const before = await persisted(worker);
    expect(before).toBeLessThan(COUNT / 2);
    await eventually('not ready', async () => (await worker.ready()).status === 503);
    await triton().restart();
    await topic.untilLagZero();
    expect(await persisted(worker)).toBe(COUNT);
    expect(await inlineBatches(worker)).toBe(0);
    expect(worker.log.some(({ msg }) => msg === 'shared-memory region registered again')).toBe(true);
    await eventually('ready', async () => (await worker.ready()).status === 200);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await expectNoDeadLetters(topic);
    expect(shmFilesOf(ID)).toEqual([]);
    const ids = chunks.map(({ chunkId }) => chunkId);
    const vectors = await storedVectors(lancedbAt(folder), await contractOf(triton().grpcUrl), ids);
    expect(vectors.size).toBe(COUNT);
    const half = COUNT / 2;
    const different = ids.slice(0, half).filter((id, i) => {
      return !Buffer.from(vectors.get(id)!).equals(vectors.get(`chunk-${i + half}`)!);
    });
    expect(different).toEqual([]);
  });
});

describe('an engine that comes back without shared memory', () => {
  const COUNT = 6_000;
  const chunks: TestChunk[] = Array.from({ length: COUNT }, (_, i) => ({
    chunkId: `chunk-${i}`,
    documentId: `document-${i % 50}`,
    text: `note ${i} of the harbour master`,
  }));

  async function untilKilled(env: Env): Promise<{ readonly worker: WorkerProcess; readonly engine: EngineProcess }> {
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine(['--synthetic', '--batch-ms', '50']);
    const worker = await workerOn(engine.target, env);
    await untilPersisted(worker, 500);
    await engine.program.kill();
    expect(await inlineBatches(worker)).toBe(0);
    return { worker, engine };
  }
  const comesBack = ({ grpcPort }: EngineProcess) =>
    startEngine(['--synthetic', '--allow-client-shm', 'false'], grpcPort);

  it('gets what is left inside the messages, and nothing is lost', async () => {
    const { worker, engine } = await untilKilled({});
    await comesBack(engine);
    await topic.untilLagZero();
    expect(await persisted(worker)).toBe(COUNT);
    expect(await inlineBatches(worker)).toBeGreaterThan(10);
    expect(worker.log.filter(({ msg }) => msg === 'tensors travel inside the gRPC messages')).toHaveLength(1);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    await expectNoDeadLetters(topic);
    expect(shmFilesOf(ID)).toEqual([]);
  });

  it('stops a worker that requires it: exit code 1 with one clear error, and the rest stays unread', async () => {
    const { worker, engine } = await untilKilled({ RAG_SERVING_SHM_MODE: 'required' });
    await comesBack(engine);
    expect(await worker.program.exited).toEqual({ code: 1, signal: null });
    expect(JSON.stringify(worker.log.filter(({ level }) => level === 'ERROR'))).toMatch(
      /SHM_UNSUPPORTED.*RAG_SERVING_SHM_MODE is required/,
    );
    expect(await topic.lag()).toBeGreaterThan(0);
    await expectNoDeadLetters(topic);
    expect(shmFilesOf(ID)).toEqual([]);
  });
});
