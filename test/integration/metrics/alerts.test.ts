/**
 * A real Prometheus scrapes a real worker, a sidecar and a real Triton: alerts fire and clear by the rules that are shipped, and numbers
 * agree with what was produced. With RECORD_SERIES set the run is kept for the tests of the rules.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningPrometheus } from '../../../scripts/stack/prometheus.ts';
import { useKafka, useTriton } from '../../support/stack.ts';
import { beside, type Sidecar, startSidecar } from '../ops/sidecar.ts';
import {
  chunkMessage,
  endPrograms,
  eventually,
  startWorker,
  TestTopic,
  type WorkerProcess,
} from '../worker/harness.ts';
import { recordSeries } from './recording.ts';
import { answerTo, firing, watch } from './watched-world.ts';

const COUNT = 300;
const MAX_IN_FLIGHT = 64;

const kafka = useKafka();
const triton = useTriton({ models: ['batch_embedder_ensemble'] });
let topic: TestTopic;
let worker: WorkerProcess;
let sidecar: Sidecar;
let prometheus: RunningPrometheus;
let beganAt = 0;

const hostOf = (url: string) => new URL(url).host;
/** The failure names what fired instead. */
async function until(what: string, holds: (now: readonly string[]) => boolean): Promise<void> {
  let now: readonly string[] = [];
  const look = async () => holds((now = await firing(prometheus)));
  await eventually(what, look, 90_000, 500).catch((cause: unknown) => {
    throw new Error(`${what}; firing are: ${now.join(', ')}`, { cause });
  });
}
const fires = (...names: readonly string[]) =>
  until(`${names.join(', ')} fire`, (now) => names.every((name) => now.includes(name)));
const clears = (...names: readonly string[]) =>
  until(`${names.join(', ')} clear`, (now) => names.every((name) => !now.includes(name)));
const chunk = (i: number) => chunkMessage({ chunkId: `c-${i}`, documentId: `d-${i}`, text: `text ${i}` });

beforeAll(async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(3);
  worker = await startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: triton().grpcUrl,
    RAG_SERVING_SINK: 'memory',
    RAG_SERVING_WORKER_ID: 'alerts-test',
    RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: String(MAX_IN_FLIGHT),
    RAG_SERVING_MAX_BATCH_SIZE: '32',
  });
  await eventually('ready', async () => (await worker.ready()).status === 200, 60_000);
  sidecar = await startSidecar(beside(triton()));
  prometheus = await watch({
    'rag-serving-worker': [`127.0.0.1:${worker.port}`],
    'rag-serving-ops': [`127.0.0.1:${sidecar.port}`],
    triton: [hostOf(triton().metricsUrl)],
  });
  beganAt = Math.floor(Date.now() / 1_000);
}, 240_000);
afterAll(async () => {
  await prometheus?.stop();
  await endPrograms();
  await topic?.close();
});

describe('alerts on a real run', () => {
  it('all is well: worker, sidecar and Triton are scraped, and nothing fires', async () => {
    await eventually('all are up', async () => (await answerTo(prometheus, 'sum(up)')) === 3);
    expect(await answerTo(prometheus, 'rag_serving_consumer_joined')).toBe(1);
    expect(await firing(prometheus)).toEqual([]);
  });

  it('Triton goes away with messages to read: no progress, breaker, backlog and target fire', async () => {
    await triton().kill();
    await topic.send(Array.from({ length: COUNT }, (_, i) => chunk(i)));
    await fires('RagServingNoProgress', 'RagServingBreakerOpen', 'RagServingTargetDown', 'RagServingThroughputLow');
    const lag = await answerTo(prometheus, 'sum(rag_serving_consumer_lag_messages)');
    // Partitions are paused, and the lag is the broker's all the same.
    expect(lag).toBe(COUNT);
    expect(await answerTo(prometheus, 'rag_serving_source_paused')).toBe(1);
    const alerts = await prometheus.alerts();
    for (const { name, annotations } of alerts.filter(({ state }) => state === 'firing')) {
      expect(annotations.runbook_url, name).toMatch(/^docs\/runbooks\/[a-z-]+\.md$/);
    }
  });

  it('Triton comes back: they clear, and every chunk is counted once', async () => {
    await triton().restart();
    await topic.untilLagZero();
    await clears('RagServingNoProgress', 'RagServingBreakerOpen', 'RagServingTargetDown', 'RagServingThroughputLow');
    await eventually(
      'the numbers agree',
      async () =>
        (await answerTo(prometheus, 'sum(rag_serving_chunks_total{outcome="persisted"})')) === COUNT &&
        (await answerTo(prometheus, 'sum(rag_serving_committed_offset)')) === COUNT,
    );
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(COUNT);
    expect(await worker.metric('rag_serving_sink_rows_total', 'outcome="stored"')).toBe(COUNT);
    expect(await worker.metric('rag_serving_grpc_calls_total', 'code="UNAVAILABLE"')).toBeGreaterThan(0);
    expect(await answerTo(prometheus, 'max(nv_inference_request_success{model="batch_embedder_trt"})')).toBeGreaterThan(
      0,
    );
  });

  it('a message that is no chunk: the first dead letter fires, though its series began with it', async () => {
    await topic.send([{ key: 'k', value: 'no JSON' }]);
    await fires('RagServingDeadLetters');
    expect(await answerTo(prometheus, 'sum(rag_serving_dead_letters_total)')).toBe(1);
    expect(await answerTo(prometheus, 'sum(rag_serving_dead_letters_total{code="CHUNK_INVALID"})')).toBe(1);
  });

  it('the series of partitions vanish with the worker’s membership, and Prometheus notices the worker gone', async () => {
    if (process.env.RECORD_SERIES !== undefined) {
      const recorded = await recordSeries(prometheus, beganAt);
      await writeFile(join(import.meta.dirname, '../../support/recorded-series.json'), recorded);
    }
    await worker.stop();
    await fires('RagServingTargetDown');
    expect(await prometheus.query('rag_serving_consumer_lag_messages')).toEqual([]);
  });
});
