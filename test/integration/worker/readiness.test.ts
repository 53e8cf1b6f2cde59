/** /ready of a worker: turns when what it needs goes away, and back; and what the Triton beside it says counts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka } from '../../support/stack.ts';
import { GIB, tritonMetrics } from '../../unit/ops/vram/expositions.ts';
import { FakeTriton } from '../ops/fake-triton.ts';
import {
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';

const INTERVAL_MS = 1_000;
const kafka = useKafka();
let folder: string;
let topic: TestTopic;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-readiness-'));
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(1);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(target: string, more: Env = {}): Promise<WorkerProcess> {
  return startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_LANCEDB_PATH: folder,
    RAG_SERVING_READY_INTERVAL_MS: String(INTERVAL_MS),
    RAG_SERVING_READY_TIMEOUT_MS: String(INTERVAL_MS),
    ...more,
  });
}

/** Within two intervals, and what a busy machine adds. */
function turns(worker: WorkerProcess, status: number): Promise<void> {
  return eventually(
    `/ready turns ${status}`,
    async () => (await worker.ready()).status === status,
    2 * INTERVAL_MS + 6_000,
  );
}

async function failing(worker: WorkerProcess): Promise<readonly string[]> {
  return (await worker.ready()).body.checks.filter(({ ok }) => !ok).map(({ name }) => name);
}

describe('/ready of a worker', () => {
  it('turns when the model server is killed, and back', async () => {
    const engine = await startEngine();
    const worker = await start(engine.target);
    await eventually('ready', async () => (await worker.ready()).status === 200);
    await engine.program.kill();
    await turns(worker, 503);
    expect(await failing(worker)).toEqual(['model-server']);
    expect(await worker.page('healthz')).toBe('{"status":"alive"}');
    await startEngine(['--synthetic'], engine.grpcPort);
    await turns(worker, 200);
  });

  it('turns when GPU memory is over the limit or Triton says no over HTTP, and back', async () => {
    const triton = await FakeTriton.start();
    try {
      const used = (gib: number) => ({ body: tritonMetrics({ used: gib * GIB, total: 24 * GIB }) });
      triton.metrics = used(10);
      const engine = await startEngine();
      const worker = await start(engine.target, {
        RAG_SERVING_TRITON_HTTP_URL: triton.url,
        RAG_SERVING_TRITON_METRICS_URL: `${triton.url}/metrics`,
      });
      await eventually('ready', async () => (await worker.ready()).status === 200);
      triton.metrics = used(22);
      await turns(worker, 503);
      expect(await failing(worker)).toEqual(['vram']);
      triton.metrics = used(10);
      await turns(worker, 200);
      triton.health = { status: 400 };
      await turns(worker, 503);
      expect(await failing(worker)).toEqual(['triton', 'models']);
      triton.health = {};
      await turns(worker, 200);
    } finally {
      await triton.stop();
    }
  });
});
