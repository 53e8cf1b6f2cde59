/** Connections that stay open and carry nothing, while new ones work: the worker notices within a minute and heals itself. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../scripts/stack/free-port.ts';
import { type RunningKafka, startKafka } from '../../../scripts/stack/kafka.ts';
import { type FaultProxy, startProxy } from '../../../scripts/stack/proxy.ts';
import { CallProxy } from '../../support/call-proxy.ts';
import { useRedis } from '../../support/stack.ts';
import { chunksNamed, expectExactlyStored, expectNoDeadLetters, redisAt, shmFilesOf } from './evidence.ts';
import {
  chunkMessage,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  type TestChunk,
  TestTopic,
  type WorkerProcess,
} from './harness.ts';
import { readLetters } from './letters.ts';

const ID = `watchdog-test-${process.pid}`;
const MINUTE_MS = 60_000;
const redis = useRedis();
const ends: (() => unknown)[] = [];
let kafka: RunningKafka;
let kafkaProxy: FaultProxy;
let topic: TestTopic;

beforeEach(async () => {
  const port = await freePort();
  kafka = await startKafka({ advertisedPort: port });
  kafkaProxy = await startProxy({ target: { port: kafka.proxiedPort }, port });
  topic = new TestTopic(kafka.bootstrapServers);
  await topic.create(3);
});
afterEach(async () => {
  await endPrograms();
  for (const end of ends.splice(0)) await end();
  await topic.close();
  await kafkaProxy.close();
  await kafka.stop();
});

const store = () => redisAt(redis().url, `${topic.topic}:`);
const workerAt = (target: string, more: Env = {}) =>
  startWorker({
    ...topic.env(kafkaProxy.address),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: `${topic.topic}:`,
    RAG_SERVING_WORKER_ID: ID,
    RAG_SERVING_MAX_BATCH_SIZE: '32',
    ...more,
  });
const send = (chunks: readonly TestChunk[]) => topic.send(chunks.map((chunk) => chunkMessage(chunk)));
const persisted = (worker: WorkerProcess) => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
const untilStored = (worker: WorkerProcess, count: number, withinMs = MINUTE_MS) =>
  eventually(`${count} stored`, async () => (await persisted(worker)) >= count, withinMs);
const actions = (worker: WorkerProcess, finding: string, action: string) =>
  worker.metric('rag_serving_watchdog_actions_total', `finding="${finding}"`, `action="${action}"`);

async function expectHealed(worker: WorkerProcess, chunks: readonly TestChunk[], letters = 0): Promise<void> {
  await untilStored(worker, chunks.length);
  await topic.untilLagZero();
  await eventually('ready', async () => (await worker.ready()).status === 200);
  expect(await worker.page('healthz')).toContain('alive');
  expect(await worker.stop()).toEqual({ code: 0, signal: null });
  await expectExactlyStored(store(), chunks);
  // A request that was given up on may have been heard: the same letter twice is no harm.
  const origins = (await readLetters(topic.client, `${topic.topic}.dlq`)).map(({ told }) => told.origin);
  expect(new Set(origins).size).toBe(letters);
  expect(shmFilesOf(ID)).toEqual([]);
}

describe('the connection to the model server', () => {
  it('that answers pings and no call is replaced within a minute; nothing is lost or dead-lettered', async () => {
    const engine = await startEngine();
    const proxy = await CallProxy.start(engine.target);
    ends.push(() => proxy.close());
    const chunks = chunksNamed('calls', 400);
    const worker = await workerAt(proxy.address, { RAG_SERVING_INFERENCE_TIMEOUT_MS: '5000' });
    await send(chunks.slice(0, 200));
    await untilStored(worker, 200);
    proxy.wedge();
    await send(chunks.slice(200));
    await expectHealed(worker, chunks);
    expect(
      worker.log.filter(({ msg }) => msg === 'watchdog: the connection to the model server was replaced'),
    ).toHaveLength(1);
  });

  it('that is a black hole while new ones pass is done with within a minute', async () => {
    const engine = await startEngine();
    const proxy = await startProxy({ target: { port: engine.grpcPort } });
    ends.push(() => proxy.close());
    const chunks = chunksNamed('hole', 400);
    const worker = await workerAt(proxy.address);
    await send(chunks.slice(0, 200));
    await untilStored(worker, 200);
    proxy.wedge();
    await send(chunks.slice(200));
    await untilStored(worker, 400);
    // What the black hole held arrives now, at an engine that has moved on.
    await proxy.restore();
    await expectHealed(worker, chunks);
  });

  it('that goes silent again and again, though fresh ones are answered: the worker ends with one clear error', async () => {
    const engine = await startEngine();
    const proxy = await CallProxy.start(engine.target);
    ends.push(() => proxy.close());
    const chunks = chunksNamed('again', 100);
    const worker = await workerAt(proxy.address, { RAG_SERVING_INFERENCE_TIMEOUT_MS: '5000' });
    await eventually('ready', async () => (await worker.ready()).status === 200);
    // One answer is what the question over a fresh connection takes.
    proxy.wedge(1);
    await send(chunks);
    await eventually('replaced', async () => (await actions(worker, 'channel-wedged', 'rebuild')) > 0, MINUTE_MS);
    await worker.program.line(({ code }) => code === 'WORKER_STALLED', 120_000);
    expect(await worker.program.exited).toEqual({ code: 1, signal: null });
    const errors = worker.log.filter(({ level }) => level === 'ERROR');
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors)).toMatch(/answers fresh connections and none of ours/);
    expect(await topic.lag()).toBe(100);
    await expectNoDeadLetters(topic);
    expect(shmFilesOf(ID)).toEqual([]);
  }, 240_000);
});

describe('the connections to the store', () => {
  it('that are black holes while new ones pass: writes go on within a minute', async () => {
    const engine = await startEngine();
    const proxy = await startProxy({ target: { port: redis().port } });
    ends.push(() => proxy.close());
    const chunks = chunksNamed('store', 400);
    const worker = await workerAt(engine.target, { RAG_SERVING_REDIS_URL: `redis://${proxy.address}` });
    await send(chunks.slice(0, 200));
    await untilStored(worker, 200);
    proxy.wedge();
    await send(chunks.slice(200));
    await expectHealed(worker, chunks);
  });
});

describe('the connections to the broker', () => {
  it('that are black holes while new ones pass: the consumer is built anew within a minute and reads on', async () => {
    const engine = await startEngine();
    const chunks = chunksNamed('broker', 400);
    const worker = await workerAt(engine.target);
    const letters = () => worker.metric('rag_serving_dead_letters_total');
    const bad = (key: string) => topic.send([{ key, value: 'no chunk' }]);
    await bad('first');
    await send(chunks.slice(0, 200));
    await untilStored(worker, 200);
    await topic.untilLagZero();
    expect(await letters()).toBe(1);
    kafkaProxy.wedge();
    await bad('second');
    await send(chunks.slice(200));
    await eventually('rebuilt', async () => (await actions(worker, 'consumer-silent', 'rebuild')) === 1, MINUTE_MS);
    // By a producer that was connected before, too.
    await eventually('buried', async () => (await letters()) === 2, MINUTE_MS);
    await expectHealed(worker, chunks, 2);
    // What was stored and committed before is not done again.
    expect(worker.log.filter(({ msg }) => msg === 'watchdog: the consumer is built anew')).toHaveLength(1);
  });
});
