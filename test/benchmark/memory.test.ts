/** Resident memory of the worker over 200,000 chunks with each store; raw numbers to docs/benchmarks/memory.json. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { type Env, endPrograms, TestTopic } from '../integration/worker/harness.ts';
import { type MemorySample, peakRssMb, sampleWorkerMemory } from '../integration/worker/memory-samples.ts';
import { useKafka, useRedis } from '../support/stack.ts';

const COUNT = 200_000;
const EDGE = 50_000;
const BUCKETS = 40;
const LIMIT_MS = 500_000;

const kafka = useKafka();
const redis = useRedis();
const runs: object[] = [];
let folder: string;
let topic: TestTopic;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-memory-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});
afterAll(() => {
  const machine = { node: process.version, cores: availableParallelism() };
  const file = join(committedPath('docs'), 'benchmarks', 'memory.json');
  mkdirSync(join(committedPath('docs'), 'benchmarks'), { recursive: true });
  writeFileSync(
    file,
    `${JSON.stringify({ what: 'RSS of the worker in MB', chunks: COUNT, machine, runs }, null, 1)}\n`,
  );
});

/** Ratio of the peak in the last 50,000 chunks to that in the first. */
async function growthOf(name: string, settings: Env): Promise<number> {
  const env = { ...topic.env(kafka().bootstrapServers), ...settings };
  const samples = await sampleWorkerMemory(topic, COUNT, env, LIMIT_MS);
  const first = peakRssMb(samples, 0, EDGE);
  const last = peakRssMb(samples, COUNT - EDGE, COUNT);
  runs.push({ name, seconds: samples.at(-1)?.seconds, peakOfFirst: first, peakOfLast: last, series: series(samples) });
  return last / first;
}

/** [chunks stored, highest RSS since the entry before] */
function series(samples: readonly MemorySample[]): [number, number][] {
  const peaks = new Map<number, number>();
  for (const { chunks, rssMb } of samples) {
    const bucket = Math.ceil((chunks / COUNT) * BUCKETS);
    peaks.set(bucket, Math.max(peaks.get(bucket) ?? 0, Math.round(rssMb)));
  }
  return [...peaks].map(([bucket, rssMb]) => [(bucket * COUNT) / BUCKETS, rssMb]);
}

describe(`memory over ${COUNT} chunks`, () => {
  const lancedb = () => ({ RAG_SERVING_SINK: 'lancedb', RAG_SERVING_LANCEDB_PATH: folder });

  it('is flat with Redis', async () => {
    const growth = await growthOf('redis', { RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: redis().url });
    expect(growth).toBeLessThanOrEqual(1.1);
  }, 600_000);

  it('grows with LanceDB by its caches and the read-ahead of a compaction, and no more', async () => {
    // glibc otherwise keeps in its arenas what a compaction has freed.
    const growth = await growthOf('lancedb', { ...lancedb(), MALLOC_MMAP_THRESHOLD_: '131072' });
    expect(growth).toBeLessThanOrEqual(1.35);
  }, 600_000);

  it('grows with LanceDB and the allocator as it comes, for comparison', async () => {
    expect(await growthOf('lancedb, default malloc', lancedb())).toBeLessThan(2);
  }, 600_000);
});
