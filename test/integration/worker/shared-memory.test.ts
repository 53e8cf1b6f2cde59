/** What lies in /dev/shm before, during and after a worker, on a real Triton and on the engine. */
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import { useKafka, useTriton } from '../../support/stack.ts';
import { chunksNamed, expectNoDeadLetters, shmFilesOf } from './evidence.ts';
import {
  chunkMessage,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  type TestChunk,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';

const ID = `shm-cases-${process.pid}`;
const CYCLES = 5;
const kafka = useKafka();
const triton = useTriton({ models: ['batch_embedder_ensemble'] });
let folder: string;
let topic: TestTopic;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-shm-worker-'));
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(1);
});
afterEach(async () => {
  // What the worker rightly leaves alone, the test has made.
  for (const name of shmFilesOf(ID)) {
    if (!lstatSync(`/dev/shm/${name}`).isFile()) rmSync(`/dev/shm/${name}`, { recursive: true });
  }
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
    // The broker waits for a dead member until its session ends.
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
    ...env,
  });
}

const send = (chunks: readonly TestChunk[]) => topic.send(chunks.map((chunk) => chunkMessage(chunk)));
const persisted = (worker: WorkerProcess) => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
const inSharedMemory = (worker: WorkerProcess) =>
  worker.program.line(({ msg }) => msg === 'tensors travel in shared memory');

/** Names of our regions that Triton knows. */
async function regionsAtTriton(): Promise<string[]> {
  const client = createGrpcInferenceClient({
    target: triton().grpcUrl,
    targetSetting: 'TEST',
    receiveLimitBytes: 4 << 20,
  });
  try {
    const regions = await client.listSharedMemory({ timeoutMs: 5_000 });
    return regions.map(({ name }) => name).filter((name) => name.startsWith(`rag-${ID}-`));
  } finally {
    client.close();
  }
}

describe('a worker on a real Triton', () => {
  it('killed and stopped over and over leaves one set of files at most, none after a stop, nothing at Triton (T05)', async () => {
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await send(chunksNamed(`kill-${cycle}`, 10));
      const worker = await workerOn(triton().grpcUrl);
      await inSharedMemory(worker);
      // Region and owner, of this one alone.
      expect(shmFilesOf(ID)).toHaveLength(2);
      expect(await regionsAtTriton()).toHaveLength(1);
      if (cycle === CYCLES - 1) await eventually('a batch', async () => (await persisted(worker)) > 0, 60_000);
      expect(await worker.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    }
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const worker = await workerOn(triton().grpcUrl);
      await inSharedMemory(worker);
      expect(await worker.stop()).toEqual({ code: 0, signal: null });
      expect(shmFilesOf(ID)).toEqual([]);
      expect(await regionsAtTriton()).toEqual([]);
    }
  });

  it('started again between the registration and the first batch: 20 chunks are stored through the region (T01)', async () => {
    const worker = await workerOn(triton().grpcUrl);
    await inSharedMemory(worker);
    await triton().kill();
    await triton().restart();
    await send(chunksNamed('t01', 20));
    await topic.untilLagZero();
    expect(await persisted(worker)).toBe(20);
    expect(await worker.metric('rag_serving_batches_total', 'transport="inline"')).toBe(0);
    expect(worker.log.filter(({ msg }) => msg === 'shared-memory region registered again')).toHaveLength(1);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    await expectNoDeadLetters(topic);
    expect(await regionsAtTriton()).toEqual([]);
  });

  it('finds what a dead one left, short, old, read-only, a folder, a symlink: none of it is used or written to (T03)', async () => {
    const at = (nonce: string) => `/dev/shm/rag-${ID}-${nonce.repeat(16)}`;
    const target = join(folder, 'target');
    writeFileSync(target, 'precious');
    writeFileSync(at('a'), 'ten bytes!');
    writeFileSync(at('b'), Buffer.alloc(8 << 20, 0xff));
    writeFileSync(at('c'), 'read-only', { mode: 0o400 });
    mkdirSync(at('d'));
    symlinkSync(target, at('e'));
    const worker = await workerOn(triton().grpcUrl);
    await inSharedMemory(worker);
    await send(chunksNamed('t03', 20));
    await topic.untilLagZero();
    expect(await persisted(worker)).toBe(20);
    const left = await worker.program.line(({ msg }) => msg === 'could not sweep all that a dead incarnation left');
    expect(JSON.stringify(left)).toContain('neither a file nor a socket');
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(readFileSync(target, 'utf8')).toBe('precious');
    expect(statSync(at('d')).isDirectory()).toBe(true);
    expect(shmFilesOf(ID).toSorted()).toEqual(['d', 'e'].map((nonce) => `rag-${ID}-${nonce.repeat(16)}`));
  });
});

describe('a worker on the engine', () => {
  it('whose region does not fit into /dev/shm ends at start with the bytes and the settings, and leaves no file', async () => {
    const engine = await startEngine();
    const worker = await workerOn(engine.target, {
      RAG_SERVING_SHM_SLOTS: '256',
      RAG_SERVING_SHM_SLOT_INPUT_BYTES: '268435456',
    });
    expect(await worker.program.exited).toEqual({ code: 1, signal: null });
    const errors = worker.log.filter(({ level }) => level === 'ERROR');
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors)).toMatch(/SHM_NO_SPACE.*RAG_SERVING_SHM_SLOTS/);
    expect(shmFilesOf(ID)).toEqual([]);
  });

  it('maps nothing more over 2,000 batches, and every slot is free after them (T05)', async () => {
    const engine = await startEngine();
    const worker = await workerOn(engine.target, {
      RAG_SERVING_MAX_BATCH_SIZE: '4',
      RAG_SERVING_SINK: 'memory',
    });
    const chunks = chunksNamed('t05', 8_000);
    await send(chunks.slice(0, 2_000));
    await eventually('warm', async () => (await persisted(worker)) >= 2_000, 60_000);
    const mappings = () =>
      readFileSync(`/proc/${worker.program.pid}/maps`, 'utf8')
        .split('\n')
        .filter((line) => line.includes('/dev/shm/')).length;
    const before = mappings();
    await send(chunks.slice(2_000));
    await topic.untilLagZero(100_000);
    expect(await worker.metric('rag_serving_batches_total', 'transport="shared_memory"')).toBeGreaterThanOrEqual(2_000);
    expect(mappings()).toBe(before);
    expect(await worker.metric('rag_serving_shm_slots', 'state="free"')).toBe(4);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(shmFilesOf(ID)).toEqual([]);
  });
});
