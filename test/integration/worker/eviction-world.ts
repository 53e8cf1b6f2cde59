/** A worker on a machine that will be taken away: its topic, its store and its hook file, and what must be true when it has gone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import type { LocalServer } from '../../support/metadata/local-server.ts';
import { useKafka } from '../../support/stack.ts';
import {
  chunksNamed,
  committedChunks,
  embeddedTexts,
  expectExactlyStored,
  groupMembers,
  lancedbAt,
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
  type TestChunk,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';

export type World = ReturnType<typeof useEvictionWorld>;

/** One to a test file: a topic, a folder and servers for each test, and none of them afterwards. */
export function useEvictionWorld(workerId: string) {
  const kafka = useKafka();
  const servers: LocalServer[] = [];
  let folder = '';
  let topic: TestTopic;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rag-worker-'));
    topic = new TestTopic(kafka().bootstrapServers);
  });
  afterEach(async () => {
    await endPrograms();
    await topic.close();
    for (const server of servers.splice(0)) await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const store = () => lancedbAt(join(folder, 'store'));
  const workerAt = (target: string, more: Env = {}) =>
    startWorker({
      ...topic.env(kafka().bootstrapServers),
      RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
      RAG_SERVING_LANCEDB_PATH: join(folder, 'store'),
      RAG_SERVING_WORKER_ID: workerId,
      RAG_SERVING_MAX_BATCH_SIZE: '32',
      RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: '1000',
      RAG_SERVING_SPOT_POLL_MS: '100',
      ...more,
    });
  return {
    workerAt,
    store,
    topic: () => topic,
    hook: () => join(folder, 'evict'),
    byFile: (): Env => ({ RAG_SERVING_SPOT_PROVIDER: 'file', RAG_SERVING_SPOT_FILE: join(folder, 'evict') }),
    /** Settings of a worker whose cloud is a local server; the server ends with the test. */
    byCloud: (provider: 'aws' | 'gcp' | 'azure', server: LocalServer): Env => {
      servers.push(server);
      return { RAG_SERVING_SPOT_PROVIDER: provider, RAG_SERVING_SPOT_URL: server.url };
    },
    fill: async (name: string, count: number, partitions = 3): Promise<TestChunk[]> => {
      await topic.create(partitions);
      const chunks = chunksNamed(name, count);
      await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
      return chunks;
    },
    storedCount: async (chunks: readonly TestChunk[]) => (await storedIds(store(), chunks)).size,
    /** Nothing is left; what is stored is committed and nothing else; a successor does the rest and only that. */
    expectPassedOn: async (chunks: readonly TestChunk[]): Promise<void> => {
      expect(await groupMembers(topic)).toBe(0);
      expect(shmFilesOf(workerId)).toEqual([]);
      const stored = (await storedIds(store(), chunks)).size;
      expect(stored).toBeLessThan(chunks.length);
      expect(await committedChunks(topic)).toBe(stored);
      const engine = await startEngine();
      const next = await workerAt(engine.target);
      await topic.untilLagZero();
      expect(await next.stop()).toEqual({ code: 0, signal: null });
      await expectExactlyStored(store(), chunks);
      expect(await embeddedTexts(engine, 1)).toBe(chunks.length - stored);
    },
  };
}

export const untilPersisted = (worker: WorkerProcess, count: number) =>
  eventually(
    `${count} chunks stored`,
    async () => (await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')) >= count,
  );

export const untilAtEngine = (worker: WorkerProcess) =>
  eventually('a batch at the engine', async () => (await worker.metric('rag_serving_in_flight_chunks')) > 0);

/** The first log line with this message, as far as it was written. */
export const logged = (worker: WorkerProcess, message: string) => worker.log.find(({ msg }) => msg === message);

/** What the ops server answers from now on until it closes, and its metrics as they were read last. */
export async function watchOps(worker: WorkerProcess) {
  const seen = { healthz: [] as number[], ready: [] as number[], phases: [] as string[] };
  let metrics = '';
  for (;;) {
    try {
      const { status, body } = await worker.ready();
      seen.ready.push(status);
      seen.phases.push(body.phase);
      seen.healthz.push((await fetch(`http://127.0.0.1:${worker.port}/healthz`)).status);
      metrics = await worker.page('metrics');
    } catch {
      return { ...seen, metrics };
    }
    await sleep(50);
  }
}
