/**
 * What one GET /metrics costs with everything on: of a busy worker, and with as many partitions, codes and endpoints as their
 * labels allow; process metrics, both forms, through the real server. The request is wall time, client included, and suffers
 * from whatever else the machine does; the rendering is CPU time. Raw numbers to docs/benchmarks/scrape.json.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { errorCodes } from '../../src/errors.ts';
import { type OpsServer, startOpsServer } from '../../src/ops/server.ts';
import { grpcCodes } from '../../src/telemetry/metric-spec.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { PartitionGauges } from '../../src/telemetry/partition-gauges.ts';
import { answers } from '../unit/ops/ops-fixture.ts';

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0';
const WARM_UP = 150;
const RUNS = 450;
const results: Record<string, unknown> = {};

type Size = { readonly partitions: number; readonly codes: number; readonly endpoints: number };
const sizes: Readonly<Record<string, Size>> = {
  busyWorker: { partitions: 32, codes: 6, endpoints: 1 },
  allThatLabelsAllow: { partitions: 256, codes: errorCodes.length, endpoints: 64 },
};

afterAll(() => {
  const folder = join(committedPath('docs'), 'benchmarks');
  mkdirSync(folder, { recursive: true });
  const machine = { node: process.version, cores: availableParallelism() };
  writeFileSync(join(folder, 'scrape.json'), `${JSON.stringify({ machine, ...results }, null, 1)}\n`);
});

function filled({ partitions: count, codes, endpoints }: Size): Metrics {
  const all = createMetrics({ pool: 'batch_ingestion', version: '1.2.3', processMetrics: true });
  const partitions = new PartitionGauges(all);
  const ours = Array.from({ length: count }, (_, partition) => partition);
  partitions.read(
    ours.map((partition) => ({ partition, lag: 123_456n, committed: 9_876_543_210n })),
    0,
  );
  all.onScrape(() => partitions.show(ours, 1_000));
  for (const stage of ['decode', 'embed', 'persist', 'delete', 'retry', 'dead_letter', 'commit'] as const) {
    for (const result of ['ok', 'failed'] as const) all.stageDuration.observe({ stage, result }, 0.01);
    for (const code of errorCodes.slice(0, codes)) all.stageErrors.add({ stage, code });
  }
  for (let i = 0; i < endpoints; i++) all.setBreaker(`host-${i}.model.svc:8001`, 'closed');
  for (const method of ['ModelInfer', 'ModelReady']) {
    for (const code of grpcCodes.slice(0, codes)) all.grpcCalls.add({ method, code });
  }
  all.setPhase('running');
  return all;
}

const rounded = (value: number) => Math.round(value * 1_000) / 1_000;
function quantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => rounded(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!);
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: rounded(sorted.at(-1)!) };
}

describe.each(Object.entries(sizes))('%s', (size, of) => {
  let metrics: Metrics;
  let server: OpsServer;
  beforeAll(async () => {
    metrics = filled(of);
    server = await startOpsServer(answers({ apiKey: 'key', metrics }));
  });
  afterAll(async () => {
    await server.close();
    metrics.close();
  });

  it.each([
    ['text', 'text/plain'],
    ['openMetrics', OPENMETRICS],
  ])('%s: a scrape through the server, and the rendering alone', async (form, accept) => {
    const headers = { accept, authorization: 'Bearer key' };
    const requestMs: number[] = [];
    const renderCpuMs: number[] = [];
    let text = '';
    for (let run = 0; run < RUNS; run++) {
      const startedAt = performance.now();
      const response = await fetch(`http://127.0.0.1:${server.port}/metrics`, { headers });
      text = await response.text();
      const tookMs = performance.now() - startedAt;
      expect(response.status).toBe(200);
      const before = process.cpuUsage();
      await metrics.render(accept);
      const { user, system } = process.cpuUsage(before);
      if (run < WARM_UP) continue;
      requestMs.push(tookMs);
      renderCpuMs.push((user + system) / 1_000);
    }
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
    results[`${size} ${form}`] = {
      series,
      bytes: text.length,
      requestMs: quantiles(requestMs),
      renderCpuMs: quantiles(renderCpuMs),
    };
    expect(series).toBeGreaterThan(of.partitions * 2);
  });
});
