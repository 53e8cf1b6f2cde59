/** The worker ended without a word, and two that claim to be the same. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import {
  chunksDoneForGood,
  chunksNamed,
  committedChunks,
  embeddedTexts,
  expectExactlyStored,
  lancedbAt,
  regionsAt,
  shmFilesOf,
} from './evidence.ts';
import {
  chunkMessage,
  type EngineProcess,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
} from './harness.ts';

const kafka = useKafka();
const ID = 'kill-test';
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

const workerAt = (engine: EngineProcess) =>
  startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_LANCEDB_PATH: folder,
    RAG_SERVING_WORKER_ID: ID,
    RAG_SERVING_MAX_BATCH_SIZE: '32',
    // The broker waits for the dead member until its session ends.
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
  });

/** What the engine still had to do when its client died, it does. */
async function untilIdle(engine: EngineProcess, workersStarted: number): Promise<number> {
  for (let before = -1; ; await sleep(500)) {
    const now = await embeddedTexts(engine, workersStarted);
    if (now === before) return now;
    before = now;
  }
}

describe('kill -9', () => {
  it('in mid-stream: the successor loses nothing, repeats only what was not done, and sweeps /dev/shm', async () => {
    await topic.create(3);
    const chunks = chunksNamed('kill', 3_000);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine(['--synthetic', '--batch-ms', '200']);
    const victim = await workerAt(engine);
    await eventually('some are committed', async () => (await committedChunks(topic)) >= 300);
    expect(await victim.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    const left = shmFilesOf(ID);
    expect(left.length).toBeGreaterThan(0);
    expect(await regionsAt(engine)).toHaveLength(1);
    const [dead] = await regionsAt(engine);
    const embedded = await untilIdle(engine, 1);
    const done = await chunksDoneForGood(topic);
    expect(done).toBeLessThan(3_000);

    const successor = await workerAt(engine);
    await successor.program.line(({ msg }) => msg === 'tensors travel in shared memory');
    const regions = await regionsAt(engine);
    expect(regions).toHaveLength(1);
    expect(regions).not.toContain(dead);
    expect(shmFilesOf(ID).filter((name) => left.includes(name))).toEqual([]);
    await topic.untilLagZero();
    expect(await successor.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    expect((await embeddedTexts(engine, 2)) - embedded).toBe(3_000 - done);
    expect(shmFilesOf(ID)).toEqual([]);
    expect(await regionsAt(engine)).toEqual([]);
  });
});

describe('two living workers with one worker id on one machine', () => {
  it('the second stops with one clear error, the first does not notice', async () => {
    await topic.create(1);
    const engine = await startEngine();
    const first = await workerAt(engine);
    await first.program.line(({ msg }) => msg === 'tensors travel in shared memory');
    const second = await workerAt(engine);
    expect(await second.program.exited).toEqual({ code: 1, signal: null });
    const errors = second.log.filter(({ level }) => level === 'ERROR');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code: 'SHM_INVALID', msg: 'the worker cannot go on' });
    expect(JSON.stringify(errors[0])).toContain('RAG_SERVING_WORKER_ID');

    const chunks = chunksNamed('first', 100);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    await topic.untilLagZero();
    expect(await first.metric('rag_serving_batches_total', 'transport="inline"')).toBe(0);
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), chunks);
    expect(shmFilesOf(ID)).toEqual([]);
  });
});
