import { afterEach, describe, expect, it, vi } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import type { PipelineObserver } from '../../../src/pipeline/observer.ts';
import { workerMetrics } from '../../../src/telemetry/metric-table.ts';
import { createMetrics, type Metrics, type MetricsOptions } from '../../../src/telemetry/metrics.ts';
import { pipelineMetrics } from '../../../src/telemetry/pipeline-metrics.ts';
import { parseExposition } from '../../support/exposition.ts';

const open: Metrics[] = [];
afterEach(() => {
  for (const metrics of open.splice(0)) metrics.close();
});
function create(more: Partial<MetricsOptions> = {}): Metrics {
  const metrics = createMetrics({ pool: 'batch_ingestion', ...more });
  open.push(metrics);
  return metrics;
}

const sampleOf = async (metrics: Metrics, name: string, labels: Record<string, string> = {}) =>
  parseExposition((await metrics.render()).text).samples.find(
    (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
  )?.value;

describe('createMetrics', () => {
  it('names follow the rules: prefix, unit last, counters end in _total', async () => {
    const { types } = parseExposition((await create().render()).text);
    expect(types.size).toBeGreaterThan(18);
    for (const [name, type] of types) {
      expect(name).toMatch(/^rag_serving_[a-z0-9]+(_[a-z0-9]+)*$/);
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
    }
  });

  it('two instances in one process neither collide nor count for each other (M12)', async () => {
    const first = create({ processMetrics: true });
    const second = create({ processMetrics: true });
    first.commits.add({ result: 'ok' });
    expect(await sampleOf(first, 'rag_serving_commits_total', { result: 'ok' })).toBe(1);
    expect(await sampleOf(second, 'rag_serving_commits_total', { result: 'ok' })).toBe(0);
    expect(await sampleOf(second, 'process_cpu_seconds_total')).toBeGreaterThan(0);
  });

  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, undefined as unknown as number, '7' as unknown as number]) {
    it(`${JSON.stringify(bad) ?? 'undefined'} (${typeof bad}) reaches no series and is counted`, async () => {
      const metrics = create();
      metrics.inFlightBytes.set({}, 5);
      metrics.inFlightBytes.set({}, bad);
      metrics.batchFillRatio.observe({}, bad);
      if (bad !== undefined) metrics.chunks.add({ outcome: 'persisted' }, bad);
      expect(await sampleOf(metrics, 'rag_serving_in_flight_bytes')).toBe(5);
      expect(await sampleOf(metrics, 'rag_serving_telemetry_dropped_values_total')).toBeGreaterThanOrEqual(2);
    });
  }

  it('a counter never goes down', async () => {
    const metrics = create();
    metrics.rebalances.add({}, 3);
    metrics.rebalances.add({}, -1);
    expect(await sampleOf(metrics, 'rag_serving_rebalances_total')).toBe(3);
  });

  it('10,000 distinct label values leave a fixed number of series (M06)', async () => {
    const metrics = create();
    for (let index = 0; index < 10_000; index++) {
      metrics.committedOffset.set({ partition: String(index) }, index);
      metrics.deadLetters.add({ code: `made up ${index}` as 'INTERNAL' });
      metrics.grpcCalls.add({ method: `m${index}`, code: `odd ${index}` as 'OK' });
      metrics.partitionsWaiting.set({ reason: `r${index}` }, 1);
    }
    const { samples } = parseExposition((await metrics.render()).text);
    const count = (name: string) => samples.filter((one) => one.name === name).length;
    expect(count('rag_serving_committed_offset')).toBe(257);
    expect(count('rag_serving_dead_letters_total')).toBe(workerMetrics.deadLetters.labels.code.length);
    expect(count('rag_serving_grpc_calls_total')).toBe(33);
    expect(count('rag_serving_partitions_waiting')).toBe(9);
  });

  it('quotes, backslashes, line breaks and emoji in label values survive a strict reader (M01)', async () => {
    const odd = 'a"b\\c\nd😀';
    const metrics = create({ pool: odd });
    metrics.partitionsWaiting.set({ reason: odd }, 1);
    const { samples } = parseExposition((await metrics.render()).text);
    const found = samples.find((one) => one.name === 'rag_serving_partitions_waiting');
    expect(found?.labels).toEqual({ reason: odd, pool: odd });
  });

  it('reads others before a scrape, and one that throws costs only itself', async () => {
    const metrics = create();
    metrics.onScrape(() => {
      throw new Error('away');
    });
    metrics.onScrape(() => metrics.consumerJoined.set({}, 1));
    expect(await sampleOf(metrics, 'rag_serving_consumer_joined')).toBe(1);
  });

  it('partitions that left are no longer shown', async () => {
    const metrics = create();
    metrics.consumerLag.set({ partition: '4' }, 9);
    metrics.consumerLag.clear();
    expect(await sampleOf(metrics, 'rag_serving_consumer_lag_messages')).toBeUndefined();
  });

  it('breakers of servers that are gone are no longer shown, the others stay as they were', async () => {
    const metrics = create();
    metrics.setBreaker('10.0.0.1:8001', 'open');
    metrics.setBreaker('10.0.0.2:8001', 'half-open');
    metrics.dropBreaker('10.0.0.1:8001');
    metrics.dropBreaker('10.0.0.9:8001');
    const breakers = (endpoint: string, state: string) =>
      sampleOf(metrics, 'rag_serving_breaker_state', { endpoint, state });
    expect(await breakers('10.0.0.1:8001', 'open')).toBeUndefined();
    expect(await breakers('10.0.0.2:8001', 'half-open')).toBe(1);
    expect(await breakers('10.0.0.2:8001', 'open')).toBe(0);
  });

  it('shows one phase at a time', async () => {
    const metrics = create();
    metrics.setPhase('running');
    metrics.setPhase('draining');
    const { samples } = parseExposition((await metrics.render()).text);
    const on = samples.filter((one) => one.name === 'rag_serving_phase' && one.value === 1);
    expect(on.map((one) => one.labels.phase)).toEqual(['draining']);
  });

  it('shows how late the event loop is', async () => {
    const metrics = create();
    // Again until it shows: on a busy machine the histogram may begin only after the first block.
    await vi.waitFor(
      async () => {
        const until = performance.now() + 120;
        while (performance.now() < until);
        await new Promise((resolve) => setTimeout(resolve, 30));
        const worst = await sampleOf(metrics, 'rag_serving_event_loop_lag_seconds', { statistic: 'max' });
        expect(worst).toBeGreaterThan(0.05);
      },
      { timeout: 4_000 },
    );
  });
});

describe('pipelineMetrics', () => {
  it('counts what the pipeline reports', async () => {
    const metrics = create();
    const observer: PipelineObserver = pipelineMetrics(metrics);
    observer.packed({ rows: 128, capacity: 256, bytes: 6_400, longestBytes: 100, closedBy: 'wait' });
    observer.embedded(128, 'shared_memory');
    observer.attempted('embed', 0.02, undefined);
    observer.attempted('embed', 0.5, new ServingError('INFERENCE_DEADLINE', 'late'));
    observer.stored(100, 20, 8);
    observer.settled('persisted');
    observer.deadLettered('CHUNK_BLANK', 'embed');
    const expected: [string, Record<string, string>, number][] = [
      ['rag_serving_batch_fill_ratio_sum', {}, 0.5],
      ['rag_serving_batch_padding_ratio_sum', {}, 0.5],
      ['rag_serving_batches_closed_total', { reason: 'wait' }, 1],
      ['rag_serving_batches_total', { transport: 'shared_memory', result: 'ok' }, 1],
      ['rag_serving_batches_total', { transport: 'other', result: 'failed' }, 1],
      ['rag_serving_stage_duration_seconds_count', { stage: 'embed', result: 'failed' }, 1],
      ['rag_serving_stage_errors_total', { stage: 'embed', code: 'INFERENCE_DEADLINE' }, 1],
      ['rag_serving_sink_rows_total', { outcome: 'superseded' }, 20],
      ['rag_serving_chunks_total', { outcome: 'persisted' }, 1],
      ['rag_serving_dead_letters_total', { code: 'CHUNK_BLANK' }, 1],
    ];
    for (const [name, labels, value] of expected) expect(await sampleOf(metrics, name, labels), name).toBe(value);
  });
});
