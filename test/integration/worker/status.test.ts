import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type StatusSnapshot, statusSchema } from '../../../src/ops/status-schema.ts';
import { useKafka } from '../../support/stack.ts';
import {
  chunkMessage,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';

const kafka = useKafka();
let folder: string;
let topic: TestTopic;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-status-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

async function statusOf(worker: WorkerProcess): Promise<StatusSnapshot> {
  return statusSchema.parse(JSON.parse(await worker.page('status')));
}

describe('/status of a worker', () => {
  it('is there before the model server is, and says what is waited for', async () => {
    await topic.create(1);
    const worker = await startWorker({
      ...topic.env(kafka().bootstrapServers),
      RAG_SERVING_BATCH_INGEST_GRPC_URL: '127.0.0.1:1',
      RAG_SERVING_LANCEDB_PATH: folder,
    });
    await eventually('the model server is said to be away', async () => {
      const { models } = (await statusOf(worker)).modelServer;
      return models[0]?.state === 'not_ready' && (models[0]?.reason ?? '') !== 'not checked yet';
    });
    expect(await statusOf(worker)).toMatchObject({
      program: 'worker',
      phase: 'starting',
      ready: false,
      ingest: { joined: false, lag: null, slots: null, chunksPerSecond: 0 },
    });
  });

  it('agrees with /metrics on what was done', async () => {
    await topic.create(2);
    const chunks = Array.from({ length: 300 }, (_, i) => ({
      chunkId: `doc-${i % 50}#${i}`,
      documentId: `doc-${i % 50}`,
      text: i % 100 === 7 ? ' ' : `text number ${i}`,
    }));
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine();
    const worker = await startWorker({
      ...topic.env(kafka().bootstrapServers),
      RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
      RAG_SERVING_LANCEDB_PATH: folder,
    });
    await topic.untilLagZero();
    await eventually('lag and history are read', async () => {
      const { ingest } = await statusOf(worker);
      return ingest?.lag?.messages === 0 && ingest.history.length > 1 && ingest.partitions.length === 2;
    });
    const { ready, ingest, modelServer } = await statusOf(worker);
    expect(ready).toBe(true);
    expect(modelServer.models).toMatchObject([{ name: 'batch_embedder_ensemble', state: 'ready', maxBatch: 256 }]);
    expect(ingest).toMatchObject({
      joined: true,
      transport: 'shared_memory',
      chunks: { persisted: 297, 'dead-lettered': 3 },
      deadLetters: { total: 3, byCode: [{ code: 'CHUNK_BLANK', count: 3 }] },
      slots: { free: 4, leased: 0, quarantined: 0 },
    });
    const metric = (name: string, label: string) => worker.metric(`rag_serving_${name}`, label);
    expect(await metric('chunks_total', 'outcome="persisted"')).toBe(297);
    expect(await metric('dead_letters_total', 'code="CHUNK_BLANK"')).toBe(3);
    for (const { partition, lag, committed } of ingest?.partitions ?? []) {
      expect(await metric('consumer_lag_messages', `partition="${partition}"`)).toBe(lag);
      expect(await metric('committed_offset', `partition="${partition}"`)).toBe(Number(committed));
    }
  });
});
