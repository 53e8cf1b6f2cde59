/** An engine that ends in mid-stream and comes back as another: a real Triton, and one that no longer takes shared memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka, useTriton } from '../../support/stack.ts';
import { expectExactlyStored, expectNoDeadLetters, lancedbAt, regionsAt, shmFilesOf } from './evidence.ts';
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

const ID = `engine-restart-test-${process.pid}`;

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

describe('an engine that is started again', () => {
  const chunks: TestChunk[] = Array.from({ length: 400 }, (_, i) => ({
    chunkId: `chunk-${i}`,
    documentId: `document-${i % 50}`,
    text: `note ${i} of the harbour master`,
  }));
  const send = (from: number, to: number) => topic.send(chunks.slice(from, to).map((chunk) => chunkMessage(chunk)));
  const shmBatches = (worker: WorkerProcess) =>
    worker.metric('rag_serving_batches_total', 'transport="shared_memory"', 'result="ok"');
  const slots = async (worker: WorkerProcess) => {
    const states = ['free', 'leased', 'quarantined'];
    return Promise.all(states.map((state) => worker.metric('rag_serving_shm_slots', `state="${state}"`)));
  };

  async function expectDone(worker: WorkerProcess): Promise<void> {
    await topic.untilLagZero();
    await eventually('slots free', async () => (await slots(worker)).join() === '4,0,0');
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    await expectNoDeadLetters(topic);
    expect(shmFilesOf(ID)).toEqual([]);
  }

  it('between the registration and the first batch: the region is registered again, and no chunk notices (T01)', async () => {
    const first = await startEngine();
    const worker = await workerOn(first.target);
    await worker.program.line(({ msg }) => msg === 'tensors travel in shared memory');
    await first.program.kill();
    const second = await startEngine(['--synthetic'], first.grpcPort);
    await eventually('ready', async () => (await worker.ready()).status === 200);
    await send(0, 400);
    await expectDone(worker);
    expect(await regionsAt(second)).toEqual([]);
  });

  it('while every slot is quarantined: all of them come back (T01)', async () => {
    const first = await startEngine(['--synthetic', '--batch-ms', '200']);
    const worker = await workerOn(first.target, { RAG_SERVING_INFERENCE_TIMEOUT_MS: '1000' });
    await send(0, 400);
    await eventually('slots out', async () => (await slots(worker))[1] === 4, 30_000, 5);
    first.program.signal('SIGSTOP');
    await eventually('slots rest', async () => (await slots(worker)).join() === '0,0,4');
    await first.program.kill();
    await startEngine(['--synthetic'], first.grpcPort);
    await untilPersisted(worker, 400);
    expect(await inlineBatches(worker)).toBe(0);
    await expectDone(worker);
  });

  it('without shared memory and then with it: the worker goes inline, and returns by itself', async () => {
    const first = await startEngine();
    const worker = await workerOn(first.target);
    await send(0, 100);
    await untilPersisted(worker, 100);
    await first.program.kill();
    const second = await startEngine(['--synthetic', '--allow-client-shm', 'false'], first.grpcPort);
    await send(100, 200);
    await untilPersisted(worker, 200);
    expect(await inlineBatches(worker)).toBeGreaterThan(0);
    await second.program.kill();
    // A batch that meets nobody: the next engine may be another one.
    await send(200, 300);
    await eventually('not ready', async () => (await worker.ready()).status === 503);
    await startEngine(['--synthetic'], first.grpcPort);
    await untilPersisted(worker, 300);
    const before = await shmBatches(worker);
    // It is asked beside the batches, about once a second now.
    for (let from = 300; from < 400; from += 10) {
      await send(from, from + 10);
      await untilPersisted(worker, from + 10);
      await sleep(300);
    }
    expect(await shmBatches(worker)).toBeGreaterThan(before);
    expect(worker.log.filter(({ msg }) => msg === 'tensors travel in shared memory again')).toHaveLength(1);
    await expectDone(worker);
  });
});
