/** Resident memory of the worker over 300,000 chunks with each store; raw numbers to docs/benchmarks/memory.json. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { type Env, endPrograms, TestTopic } from '../integration/worker/harness.ts';
import {
  growthOf,
  type MemorySample,
  sampleWorkerMemory,
  WARM_UP_CHUNKS,
} from '../integration/worker/memory-samples.ts';
import { useKafka, useRedis } from '../support/stack.ts';

const COUNT = WARM_UP_CHUNKS + 200_000;
const BUCKETS = 60;
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

/** Ratio of the median RSS over the last chunks to that over the first after the warm-up. */
async function growthWith(name: string, settings: Env): Promise<number> {
  const env = { ...topic.env(kafka().bootstrapServers), ...settings };
  const samples = await sampleWorkerMemory(topic, COUNT, env, LIMIT_MS);
  const { median, peak } = growthOf(samples, COUNT);
  runs.push({ name, seconds: samples.at(-1)?.seconds, median, peak, series: series(samples) });
  return median.last / median.first;
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
    const growth = await growthWith('redis', { RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: redis().url });
    expect(growth).toBeLessThanOrEqual(1.1);
  }, 600_000);

  it('is flat with LanceDB', async () => {
    expect(await growthWith('lancedb', lancedb())).toBeLessThanOrEqual(1.1);
  }, 600_000);
});
