/** Retries through the whole worker: what the model refuses waits in a Redis of its own, over restarts, kills and a full Redis. */
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka, useRedis } from '../../support/stack.ts';
import {
  chunkMessage,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';
import { readLetters } from './letters.ts';

const kafka = useKafka();
const redis = useRedis({ appendonly: true, args: ['--maxmemory-policy', 'noeviction'] });
const REFUSING = ['--synthetic', '--fault', 'POISON=invalid-argument'];
let topic: TestTopic;

beforeEach(() => {
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
});

function envOf(target: string, more: Env = {}): Env {
  return {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'memory',
    RAG_SERVING_RETRY_REDIS_URL: redis().url,
    RAG_SERVING_RETRY_BACKOFF_MS: '2000',
    RAG_SERVING_RETRY_MAX_BACKOFF_MS: '4000',
    RAG_SERVING_LOG_LEVEL: 'DEBUG',
    ...more,
  };
}

const message = (n: number, text: string) => chunkMessage({ chunkId: `c${n}`, documentId: `d${n}`, text });

async function waiting(): Promise<number> {
  const client = new Redis(redis().url);
  try {
    const keys = await client.keys(`rag-retry:*${topic.topic}*:delayed`);
    return (await Promise.all(keys.map((key) => client.zcard(key)))).reduce((sum, count) => sum + count, 0);
  } finally {
    client.disconnect();
  }
}

const stored = (worker: WorkerProcess) => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
const letters = () => readLetters(topic.client, `${topic.topic}.dlq`);

describe('a chunk that the model refuses', () => {
  it('lets the others pass, waits, and is stored once the model takes it', async () => {
    await topic.create(1);
    const engine = await startEngine(REFUSING);
    const worker = await startWorker(envOf(engine.target));
    await topic.send([message(1, 'good'), message(2, 'POISON'), message(3, 'good too')]);
    await topic.untilLagZero();
    expect(await stored(worker)).toBe(2);
    expect(await waiting()).toBe(1);
    await engine.program.kill();
    await startEngine(['--synthetic'], engine.grpcPort);
    await eventually('the third is stored', async () => (await stored(worker)) === 3, 60_000);
    await eventually('nothing waits', async () => (await waiting()) === 0);
    expect(await letters()).toEqual([]);
    expect((await worker.stop()).code).toBe(0);
  });

  it('goes to the dead letters after exactly so many attempts, over a kill between them (K21)', async () => {
    await topic.create(1);
    const { target } = await startEngine(REFUSING);
    const env = envOf(target, { RAG_SERVING_RETRY_MAX_ATTEMPTS: '3' });
    const first = await startWorker(env);
    await topic.send([message(1, 'POISON')]);
    await eventually('it waits', async () => (await waiting()) === 1);
    await topic.untilLagZero();
    await first.program.kill();
    const second = await startWorker(env);
    await eventually('a letter', async () => (await letters()).length === 1, 60_000);
    await eventually('nothing waits', async () => (await waiting()) === 0);
    const [letter] = await letters();
    expect(letter?.told).toMatchObject({ code: 'INFERENCE_REJECTED', attempts: '3', stage: 'embed' });
    expect(await second.metric('rag_serving_dead_letters_total')).toBe(1);
    expect((await second.stop()).code).toBe(0);
    expect(await letters()).toHaveLength(1);
  });

  it('payload origin: its text does not rest in Redis, and it is read again from Kafka', async () => {
    await topic.create(2);
    const engine = await startEngine(REFUSING);
    const worker = await startWorker(envOf(engine.target, { RAG_SERVING_RETRY_PAYLOAD: 'origin' }));
    await topic.send([message(1, 'good'), message(2, 'POISON of c2'), message(3, 'POISON of c3')]);
    await topic.untilLagZero();
    await eventually('two wait', async () => (await waiting()) === 2);
    const client = new Redis(redis().url);
    const keys = (await client.keys(`rag-retry:*${topic.topic}*`)).filter((key) => /-whole-\d+$/.test(key));
    const jobs = JSON.stringify(await Promise.all(keys.map((key) => client.hgetall(key))));
    client.disconnect();
    expect(keys).toHaveLength(2);
    expect(jobs).not.toMatch(/POISON|d2|c3/);
    expect(jobs).not.toContain(Buffer.from('{"chunk_id"').toString('base64').slice(0, 12));
    await engine.program.kill();
    await startEngine(['--synthetic'], engine.grpcPort);
    await eventually('all are stored', async () => (await stored(worker)) === 3, 60_000);
    expect((await worker.stop()).code).toBe(0);
  });
});

describe('a Redis of retries', () => {
  it('that is full holds the offsets of refused chunks; with room again all come to an end (R04)', async () => {
    await topic.create(1);
    const { target } = await startEngine(REFUSING);
    const client = new Redis(redis().url);
    await client.config('SET', 'maxmemory', '1');
    const worker = await startWorker(envOf(target, { RAG_SERVING_RETRY_MAX_ATTEMPTS: '2' }));
    await topic.send([0, 1, 2, 3, 4].map((n) => message(n, `POISON ${n}`)));
    await worker.program.line(({ code }) => code === 'RETRY_QUEUE_FULL');
    await eventually('not ready because of it', async () => {
      const { status, body } = await worker.ready();
      return status === 503 && body.checks.some(({ name, ok }) => name === 'retries' && !ok);
    });
    expect(await topic.lag()).toBe(5);
    expect(await letters()).toEqual([]);
    await client.config('SET', 'maxmemory', '0');
    client.disconnect();
    await topic.untilLagZero();
    await eventually('five letters', async () => (await letters()).length === 5, 60_000);
    expect((await worker.stop()).code).toBe(0);
  });

  it('that is away while the worker stops costs it nothing (R06)', async () => {
    await topic.create(1);
    const { target } = await startEngine(REFUSING);
    const worker = await startWorker(envOf(target));
    await topic.send([message(1, 'good'), message(2, 'POISON')]);
    await topic.untilLagZero();
    await redis().kill('SIGKILL');
    const exit = await worker.stop('SIGTERM', 20_000);
    expect(exit.code).toBe(0);
    expect(await topic.lag()).toBe(0);
    await redis().restart();
    const next = await startWorker(envOf(target, { RAG_SERVING_RETRY_MAX_ATTEMPTS: '2' }));
    await eventually('the refused one ends', async () => (await letters()).length === 1, 60_000);
    expect((await next.stop()).code).toBe(0);
  });
});
