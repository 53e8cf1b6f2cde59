/** What the worker and the online module show, as promtool judges it; and the queries and commands of the runbooks, run. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOnline, type Online } from '../../../online/index.ts';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { INSTALL_PROMETHEUS, type RunningPrometheus } from '../../../scripts/stack/prometheus.ts';
import { parseExposition } from '../../support/exposition.ts';
import { useKafka, useTriton } from '../../support/stack.ts';
import { TRITON_INFERENCE_METRICS } from '../../support/triton-metrics.ts';
import {
  chunkMessage,
  endPrograms,
  eventually,
  startWorker,
  TestTopic,
  type WorkerProcess,
} from '../worker/harness.ts';
import { runbookBlocks } from './runbook-blocks.ts';
import { answerTo, watch } from './watched-world.ts';

const kafka = useKafka();
const triton = useTriton({
  models: ['batch_embedder_ensemble', 'online_embedder_ensemble', 'online_reranker_ensemble'],
});
/** The models answer on one CPU: what is tested here is what they are counted as. */
const patient = { timeoutMs: 60_000 };
const registry = new Registry();
let topic: TestTopic;
let worker: WorkerProcess;
let online: Online;
let prometheus: RunningPrometheus;

beforeAll(async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(2);
  worker = await startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: triton().grpcUrl,
    RAG_SERVING_SINK: 'memory',
    RAG_SERVING_WORKER_ID: 'exposition-test',
  });
  prometheus = await watch({
    'rag-serving-worker': [`127.0.0.1:${worker.port}`],
    triton: [new URL(triton().metricsUrl).host],
  });
  await topic.send(
    Array.from({ length: 100 }, (_, i) => chunkMessage({ chunkId: `c-${i}`, documentId: `d-${i}`, text: `text ${i}` })),
  );
  await topic.send([{ key: 'k', value: 'no JSON' }]);
  await topic.untilLagZero();
  const endpoints = [triton().grpcUrl];
  online = await createOnline({ embed: { endpoints }, rerank: { endpoints } }, { registry });
  await online.embed(['one query'], patient);
  await online.rerank('one query', [{ id: 'a', text: 'one passage' }], patient);
}, 300_000);
afterAll(async () => {
  await online?.close();
  await prometheus?.stop();
  await endPrograms();
  await topic?.close();
});

/** Complaints of `promtool check metrics`; empty when it has none. */
function complaints(text: string): readonly string[] {
  const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  if (error !== undefined) throw new Error(INSTALL_PROMETHEUS, { cause: error });
  const said = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
  return status === 0 && said.length === 0 ? [] : [`status ${status}`, ...said];
}

describe('promtool check metrics', () => {
  it('notices what is wrong', () => {
    expect(complaints('# TYPE a_total gauge\na_total 1\n').join()).toMatch(/non-counter metrics should not have/);
  });

  it('has nothing to say about the worker', async () => {
    const text = await worker.page('metrics');
    expect(parseExposition(text).samples.length).toBeGreaterThan(150);
    expect(complaints(text)).toEqual([]);
  });

  it('has nothing to say about the online module', async () => {
    const text = await registry.metrics();
    expect(text).toContain('rag_serving_online_calls_total{pool="embed",source="model",outcome="ok"} 1');
    expect(text).toContain('rag_serving_online_grpc_calls_total');
    expect(complaints(text)).toEqual([]);
  });
});

describe('OpenMetrics', () => {
  it('is what a real Prometheus asks for and takes', async () => {
    await eventually(
      'the worker is up',
      async () => (await answerTo(prometheus, 'up{job="rag-serving-worker"}')) === 1,
    );
    const accept = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5';
    const answer = await fetch(`http://127.0.0.1:${worker.port}/metrics`, { headers: { accept } });
    expect(answer.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect((await answer.text()).endsWith('# EOF\n')).toBe(true);
    const metadata = await fetch(`${prometheus.url}/api/v1/metadata?metric=rag_serving_chunks`);
    // A Prometheus that had read the other form would know the counter by its name with _total.
    expect(await metadata.json()).toMatchObject({ data: { rag_serving_chunks: [{ type: 'counter' }] } });
  });
});

it('the names of Triton that rules and dashboards use are those that a real one shows', async () => {
  const text = await (await fetch(triton().metricsUrl)).text();
  for (const name of TRITON_INFERENCE_METRICS) expect(text).toContain(`# TYPE ${name} `);
});

describe('runbooks', () => {
  const folder = committedPath('docs/runbooks');
  const runbooks = ['queue-wait.md', 'cuda-out-of-memory.md', 'ingestion-lag.md'];

  for (const name of runbooks) {
    it(`${name}: every query is one, every command works`, async () => {
      const blocks = runbookBlocks(readFileSync(join(folder, name), 'utf8'));
      expect(blocks.filter(({ language }) => language === 'promql').length).toBeGreaterThan(3);
      expect(blocks.filter(({ language }) => language === 'bash').length).toBeGreaterThan(1);
      const env = {
        ...process.env,
        WORKER: `http://127.0.0.1:${worker.port}`,
        TRITON: triton().httpUrl,
        TRITON_METRICS: triton().metricsUrl,
        PROMETHEUS: prometheus.url,
      };
      for (const { language, text } of blocks) {
        if (language === 'promql') {
          await prometheus.query(text);
          continue;
        }
        const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', text], {
          env,
          encoding: 'utf8',
        });
        expect({ status, stderr, empty: stdout.trim() === '' }, text).toEqual({ status: 0, stderr: '', empty: false });
      }
    });
  }

  it('are all there', () => {
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(runbooks));
  });
});
