import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { killAllPrograms } from '../../../scripts/stack/program.ts';
import { useKafka } from '../../support/stack.ts';
import { chunkMessage, eventually, startEngine, startWorker, TestTopic } from './harness.ts';

const kafka = useKafka();
let folder: string;
let topic: TestTopic;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-worker-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await killAllPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('worker', () => {
  it('takes 500 chunks through shared memory into LanceDB, commits, and leaves nothing in /dev/shm', async () => {
    await topic.create(3);
    const chunks = Array.from({ length: 500 }, (_, i) => ({
      chunkId: `doc-${i % 50}#${i}`,
      documentId: `doc-${i % 50}`,
      text: `text number ${i}`,
    }));
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const engine = await startEngine();
    const worker = await startWorker({
      ...topic.env(kafka().bootstrapServers),
      RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
      RAG_SERVING_LANCEDB_PATH: folder,
      RAG_SERVING_WORKER_ID: 'basic-test',
    });
    await topic.untilLagZero();
    await eventually('ready', async () => (await worker.ready()).status === 200);
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(500);
    expect(await worker.metric('rag_serving_batches_total', 'transport="shared_memory"')).toBeGreaterThan(0);
    expect(await worker.metric('rag_serving_batches_total', 'transport="inline"')).toBe(0);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(readdirSync('/dev/shm').filter((name) => name.startsWith('rag-basic-test-'))).toEqual([]);
  });
});
