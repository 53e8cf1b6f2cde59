/** The worker's memory does not grow with what it has done. */
import { afterEach, expect, it } from 'vitest';
import { useKafka, useRedis } from '../../support/stack.ts';
import { endPrograms, TestTopic } from './harness.ts';
import { peakRssMb, sampleWorkerMemory } from './memory-samples.ts';

const COUNT = 200_000;

const kafka = useKafka();
const redis = useRedis();
let topic: TestTopic | undefined;
afterEach(async () => {
  await endPrograms();
  await topic?.close();
});

it(`memory is flat within 10 % over ${COUNT} chunks: its peak in the last 50,000 against that in the first`, async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  const env = {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
  };
  const samples = await sampleWorkerMemory(topic, COUNT, env, 100_000);
  const first = peakRssMb(samples, 0, 50_000);
  const last = peakRssMb(samples, COUNT - 50_000, COUNT);
  expect(last / first).toBeLessThanOrEqual(1.1);
}, 180_000);
