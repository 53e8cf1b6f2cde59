/** The worker told to stop, at every moment: nothing lost, nothing done twice that need not be, nothing left behind. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import {
  chunksNamed,
  committedChunks,
  embeddedTexts,
  expectExactlyStored,
  groupMembers,
  lancedbAt,
  regionsAt,
  shmFilesOf,
  storedIds,
} from './evidence.ts';
import {
  chunkMessage,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';

const kafka = useKafka();
const ID = 'stop-test';
let folder: string;
let topic: TestTopic;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-worker-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

const workerAt = (target: string, more: Env = {}) =>
  startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_LANCEDB_PATH: folder,
    RAG_SERVING_WORKER_ID: ID,
    RAG_SERVING_MAX_BATCH_SIZE: '32',
    RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: '1000',
    ...more,
  });

const persisted = (worker: WorkerProcess) => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
const untilPersisted = (worker: WorkerProcess, count: number) =>
  eventually(`${count} chunks stored`, async () => (await persisted(worker)) >= count);
const steps = ({ log }: WorkerProcess) => log.filter(({ msg }) => msg === 'drain step').map(({ step }) => step);

/** Statuses of the probes from now until the ops server has closed. */
async function probe(worker: WorkerProcess): Promise<Record<'healthz' | 'ready' | 'metrics', number[]>> {
  const seen = { healthz: [] as number[], ready: [] as number[], metrics: [] as number[] };
  for (;;) {
    for (const path of ['healthz', 'ready', 'metrics'] as const) {
      try {
        const response = await fetch(`http://127.0.0.1:${worker.port}/${path}`);
        await response.arrayBuffer();
        seen[path].push(response.status);
      } catch {
        return seen;
      }
    }
    await sleep(50);
  }
}

describe('stop in mid-stream', () => {
  it('finishes and commits what is in flight, answers probes all the while, and leaves nothing (L01, L08)', async () => {
    await topic.create(3);
    const chunks = chunksNamed('mid', 3_000);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine(['--synthetic', '--batch-ms', '200']);
    const worker = await workerAt(engine.target);
    await untilPersisted(worker, 300);
    worker.program.signal('SIGTERM');
    await worker.program.line(({ msg }) => msg === 'stopping');
    const { healthz, ready, metrics } = await probe(worker);
    expect(await worker.program.exited).toEqual({ code: 0, signal: null });
    expect(ready.length).toBeGreaterThan(1);
    expect(new Set(healthz)).toEqual(new Set([200]));
    expect(new Set(ready)).toEqual(new Set([503]));
    expect(new Set(metrics)).toEqual(new Set([200]));

    expect(await groupMembers(topic)).toBe(0);
    expect(shmFilesOf(ID)).toEqual([]);
    expect(await regionsAt(engine)).toEqual([]);
    const stored = (await storedIds(lancedbAt(folder), chunks)).size;
    expect(stored).toBeLessThan(3_000);
    expect(await committedChunks(topic)).toBe(stored);

    const next = await workerAt(engine.target);
    await topic.untilLagZero();
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    expect(await embeddedTexts(engine, 2)).toBe(3_000);
  });

  it('an engine that outlasts the budget: exit 3, and nothing is committed that is not stored', async () => {
    await topic.create(2);
    const quick = chunksNamed('quick', 200);
    const slow = chunksNamed('slow', 400).map((chunk) => ({ ...chunk, text: `SLOW ${chunk.text}` }));
    const chunks = [...quick, ...slow];
    await topic.send(quick.map((chunk) => chunkMessage(chunk)));
    const slowEngine = await startEngine(['--synthetic', '--fault', 'SLOW=late', '--late-ms', '10000']);
    const worker = await workerAt(slowEngine.target, { RAG_SERVING_DRAIN_TIMEOUT_MS: '3000' });
    await untilPersisted(worker, 200);
    await topic.send(slow.map((chunk) => chunkMessage(chunk)));
    await eventually('slow ones under way', async () => (await worker.metric('rag_serving_in_flight_chunks')) > 0);
    expect(await worker.stop('SIGTERM', 15_000)).toEqual({ code: 3, signal: null });
    expect(steps(worker).at(-1)).toBe('close the connection to the model server');
    expect(await groupMembers(topic)).toBe(0);
    expect(shmFilesOf(ID)).toEqual([]);
    expect((await storedIds(lancedbAt(folder), chunks)).size).toBe(200);
    expect(await committedChunks(topic)).toBe(200);
    await slowEngine.program.kill();

    const engine = await startEngine();
    const next = await workerAt(engine.target);
    await topic.untilLagZero();
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    // What was committed is not done again.
    expect(await embeddedTexts(engine, 1)).toBe(400);
  });

  it('an engine that is frozen: exit 3 within the budget, and no file is left in /dev/shm', async () => {
    await topic.create(1);
    await topic.send(chunksNamed('frozen', 100).map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine(['--synthetic', '--batch-ms', '1000']);
    const worker = await workerAt(engine.target, { RAG_SERVING_DRAIN_TIMEOUT_MS: '3000' });
    await eventually('a batch at the engine', async () => (await worker.metric('rag_serving_in_flight_chunks')) > 0);
    engine.program.signal('SIGSTOP');
    expect(await worker.stop('SIGTERM', 15_000)).toEqual({ code: 3, signal: null });
    expect(shmFilesOf(ID)).toEqual([]);
    expect(await groupMembers(topic)).toBe(0);
  });
});

describe('SIGTERM with every batch in flight', () => {
  // Four slots of 32 texts. The engine waits long enough to take all four calls into one execution.
  const every = async (name: string) => {
    await topic.create(3);
    const chunks = chunksNamed(name, 128);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    return chunks;
  };
  const slow = ['--fault', 'SLOW=late', '--late-ms', '10000', '--queue-delay-us', '1000000'];
  const engineOf10s = () => startEngine(['--synthetic', ...slow]);
  const untilAllLeased = (worker: WorkerProcess) =>
    eventually('all slots leased', async () => (await worker.metric('rag_serving_shm_slots', 'state="leased"')) === 4);

  it('an engine that takes 10 s, and time enough: all is stored and committed, exit 0', async () => {
    const chunks = await every('SLOW-patient');
    const engine = await engineOf10s();
    const worker = await workerAt(engine.target, { RAG_SERVING_DRAIN_TIMEOUT_MS: '40000' });
    await untilAllLeased(worker);
    expect(await worker.stop('SIGTERM', 45_000)).toEqual({ code: 0, signal: null });
    expect(await groupMembers(topic)).toBe(0);
    expect(shmFilesOf(ID)).toEqual([]);
    expect(await committedChunks(topic)).toBe(128);
    await expectExactlyStored(lancedbAt(folder), chunks);
  });

  it('an engine that takes 10 s, and a budget of 3 s: all is abandoned, nothing committed, exit 3', async () => {
    const chunks = await every('SLOW-hasty');
    const slow = await engineOf10s();
    const worker = await workerAt(slow.target, { RAG_SERVING_DRAIN_TIMEOUT_MS: '3000' });
    await untilAllLeased(worker);
    expect(await worker.stop('SIGTERM', 9_000)).toEqual({ code: 3, signal: null });
    expect(worker.log.find(({ msg }) => msg === 'drained')).toMatchObject({ abandoned: 128 });
    expect(await groupMembers(topic)).toBe(0);
    expect(shmFilesOf(ID)).toEqual([]);
    expect(await committedChunks(topic)).toBe(0);
    expect((await storedIds(lancedbAt(folder), chunks)).size).toBe(0);
    await slow.program.kill();

    const engine = await startEngine();
    const next = await workerAt(engine.target);
    await topic.untilLagZero();
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
  });

  it('500 chunks, 8 a call of 300 ms, stopped after 100: the rest is neither waited for nor lost (L01)', async () => {
    await topic.create(1);
    const chunks = chunksNamed('eight', 500);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine(['--synthetic', '--batch-ms', '300']);
    const few = { RAG_SERVING_MAX_BATCH_SIZE: '8', RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: '64' };
    const worker = await workerAt(engine.target, few);
    await untilPersisted(worker, 100);
    expect(await worker.stop('SIGTERM', 30_000)).toEqual({ code: 0, signal: null });
    const stored = (await storedIds(lancedbAt(folder), chunks)).size;
    expect(stored).toBeLessThan(500);
    expect(await committedChunks(topic)).toBe(stored);
    const next = await workerAt(engine.target, few);
    await topic.untilLagZero();
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    expect(await embeddedTexts(engine, 2)).toBe(500);
  });
});

describe('the process that is started', () => {
  it('is node itself, so that a signal to it reaches the worker: no shell and no npm in between (L04)', async () => {
    const engine = await startEngine();
    const worker = await workerAt(engine.target);
    const [program] = readFileSync(`/proc/${worker.program.pid}/cmdline`, 'utf8').split('\0');
    expect(basename(program ?? '')).toBe('node');
    expect(readFileSync(`/proc/${worker.program.pid}/task/${worker.program.pid}/children`, 'utf8').trim()).toBe('');
    expect(await worker.stop('SIGTERM', 20_000)).toEqual({ code: 0, signal: null });
    expect(worker.log.find(({ msg }) => msg === 'stopping')).toMatchObject({ signal: 'SIGTERM' });
  });
});

describe('further signals', () => {
  it.for([
    ['SIGTERM three times within 600 ms', ['SIGTERM', 'SIGTERM', 'SIGTERM']],
    ['SIGINT after SIGTERM', ['SIGTERM', 'SIGINT']],
  ] as const)('%s: cleans up once, faster, and exits 3 with work unfinished (L03)', async ([, signals]) => {
    await topic.create(1);
    const chunks = chunksNamed('SLOW', 100);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine(['--synthetic', '--fault', 'SLOW=late', '--late-ms', '30000']);
    const worker = await workerAt(engine.target);
    await eventually('a batch at the engine', async () => (await worker.metric('rag_serving_in_flight_chunks')) > 0);
    for (const [i, signal] of signals.entries()) {
      if (i > 0) await sleep(200 * i);
      worker.program.signal(signal);
    }
    // The budget is 25 s; three are left after the second signal.
    expect(await worker.stop('SIGCONT', 12_000)).toEqual({ code: 3, signal: null });
    expect(steps(worker)).toEqual([...new Set(steps(worker))]);
    expect(worker.log.filter(({ msg }) => msg === 'drained')).toHaveLength(1);
    expect(worker.program.output).not.toMatch(/unhandled|uncaught/i);
    expect(await groupMembers(topic)).toBe(0);
    expect(shmFilesOf(ID)).toEqual([]);
    expect(await committedChunks(topic)).toBe(0);
  });
});

describe('stop while starting', () => {
  const NOBODY = '127.0.0.1:1';

  it('signals until the very end of the process do not take the place of its exit code (L03)', async () => {
    const worker = await workerAt(NOBODY);
    await worker.program.line(({ msg }) => msg === 'waiting for the model server');
    const hail = setInterval(() => worker.program.signal('SIGTERM'), 1);
    try {
      expect(await worker.program.exited).toEqual({ code: 0, signal: null });
    } finally {
      clearInterval(hail);
    }
  });

  it.for([
    ['the model server', { RAG_SERVING_BATCH_INGEST_GRPC_URL: NOBODY }],
    ['the broker', { KAFKA_BOOTSTRAP_SERVERS: NOBODY }],
    ['the store', { RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: `redis://${NOBODY}` }],
    ['the topic', { KAFKA_TOPIC: 'rag.test.nowhere' }],
  ] as const)('still waiting for %s: exit 0 at once, also when told twice, nothing left', async ([, env]) => {
    const engine = await startEngine();
    const worker = await workerAt(engine.target, env);
    await eventually('it waits', async () => (await worker.ready()).body.checks.some(({ ok }) => !ok));
    await sleep(1_000);
    worker.program.signal('SIGTERM');
    await sleep(100);
    expect(await worker.stop('SIGTERM', 5_000)).toEqual({ code: 0, signal: null });
    expect(shmFilesOf(ID)).toEqual([]);
    expect(await regionsAt(engine)).toEqual([]);
  });
});
