/** The worker's memory does not grow with what it has done: its median stays within 10 %. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useKafka, useRedis } from '../../support/stack.ts';
import { endPrograms, TestTopic } from './harness.ts';
import { growthOf, sampleWorkerMemory, WARM_UP_CHUNKS } from './memory-samples.ts';

const CHUNKS = 200_000;
const LIMIT_MS = 600_000;

const kafka = useKafka();
const redis = useRedis();
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

it.each([
  ['redis', () => ({ RAG_SERVING_REDIS_URL: redis().url })],
  ['lancedb', () => ({ RAG_SERVING_LANCEDB_PATH: folder })],
] as const)(
  `memory with %s is flat over ${CHUNKS} chunks after the warm-up`,
  async (sink, settings) => {
    const env = { ...topic.env(kafka().bootstrapServers), RAG_SERVING_SINK: sink, ...settings() };
    const count = WARM_UP_CHUNKS + CHUNKS;
    const { median } = growthOf(await sampleWorkerMemory(topic, count, env, LIMIT_MS), count);
    expect(median.last / median.first).toBeLessThanOrEqual(1.1);
  },
  LIMIT_MS + 60_000,
);
