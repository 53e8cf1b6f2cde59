/** Chunks that the model cannot digest: what they cost, and that nobody else pays for them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka, useRedis } from '../../support/stack.ts';
import { chunksNamed, expectExactlyStored, redisAt } from './evidence.ts';
import {
  chunkMessage,
  type EngineProcess,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
} from './harness.ts';
import { readLetters } from './letters.ts';

const MARKER = 'POISON';
/** 2·log2(256) + 1 */
const MOST_EXTRA_CALLS = 17;

const kafka = useKafka();
const redis = useRedis();
let topic: TestTopic;
beforeEach(async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(4);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
});

const prefix = () => `${topic.topic}:`;
const store = () => redisAt(redis().url, prefix());
const letters = () => readLetters(topic.client, `${topic.topic}.dlq`);

function workerEnv(engine: EngineProcess): Env {
  return {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: prefix(),
    RAG_SERVING_RETRY_KEY_PREFIX: prefix(),
    RAG_SERVING_RETRY_BACKOFF_MS: '200',
    RAG_SERVING_RETRY_MAX_ATTEMPTS: '3',
  };
}

/** Calls of the embedder that the engine has answered, well or not. */
async function callsAnswered(engine: EngineProcess): Promise<number> {
  const { metricsPort } = await engine.program.line(({ event }) => event === 'engine ready');
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const counts = text.matchAll(
    /^nv_inference_request_(?:success|failure)\{model="batch_embedder_ensemble".*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

describe.each(['invalid-argument', 'internal', 'nan'])('a text that makes the model answer %s', (kind) => {
  it('among 10,000: the others are stored, and it costs at most 17 extra calls until it is set aside', async () => {
    const engine = await startEngine(['--synthetic', '--fault', `${MARKER}=${kind}`]);
    const good = chunksNamed('good', 9_999);
    const bad = { chunkId: 'bad#1', documentId: 'good-1', text: `this is ${MARKER}` };
    await topic.send([...good.slice(0, 5_000), bad, ...good.slice(5_000)].map((chunk) => chunkMessage(chunk)));
    // The first retry comes late, so that the count below is that of the first pass.
    const worker = await startWorker({ ...workerEnv(engine), RAG_SERVING_RETRY_BACKOFF_MS: '60000' });
    const settled = () => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
    await eventually('9,999 stored', async () => (await settled()) === 9_999, 60_000);
    await eventually(
      'the bad one set aside',
      async () => (await worker.metric('rag_serving_chunks_total', 'outcome="handed-over"')) === 1,
    );
    await topic.untilLagZero();
    const batches = await worker.metric('rag_serving_batches_closed_total');
    // One more at the start: the worker looks at a vector of the model before it begins.
    expect((await callsAnswered(engine)) - batches - 1).toBeLessThanOrEqual(MOST_EXTRA_CALLS);
    await expectExactlyStored(store(), good);
    expect(await letters()).toEqual([]);
  });
});

describe.each(['unavailable', 'late'])('a text that makes the engine %s whenever it is asked', (kind) => {
  it('is set aside in bounded time, and its neighbours are stored', async () => {
    const engine = await startEngine(['--synthetic', '--fault', `${MARKER}=${kind}`, '--late-ms', '1500']);
    const good = chunksNamed('good', 299);
    const bad = { chunkId: 'bad#1', documentId: 'bad', text: `this is ${MARKER}` };
    await topic.send([...good, bad].map((chunk) => chunkMessage(chunk)));
    const settings = { RAG_SERVING_INFERENCE_TIMEOUT_MS: '500', RAG_SERVING_RETRY_BACKOFF_MS: '60000' };
    const worker = await startWorker({ ...workerEnv(engine), ...settings });
    const handedOver = () => worker.metric('rag_serving_chunks_total', 'outcome="handed-over"');
    await eventually('the bad one set aside', async () => (await handedOver()) === 1, 100_000);
    await topic.untilLagZero();
    await expectExactlyStored(store(), good);
  });
});

it('a poisoned text is tried again later as often as the settings say, then it is one dead letter with its bytes and attempts (K21)', async () => {
  const engine = await startEngine(['--synthetic', '--fault', `${MARKER}=invalid-argument`]);
  const good = chunksNamed('good', 50);
  const bad = { chunkId: 'bad#1', documentId: 'bad', text: `this is ${MARKER}` };
  const messages = [...good, bad].map((chunk) => chunkMessage(chunk));
  await topic.send(messages);
  const worker = await startWorker(workerEnv(engine));
  await eventually('a dead letter', async () => (await worker.metric('rag_serving_dead_letters_total')) === 1, 30_000);
  await topic.untilLagZero();
  const [letter, ...more] = await letters();
  expect(more).toEqual([]);
  expect(letter?.value?.toString()).toBe(messages.at(-1)?.value);
  expect(letter?.told).toMatchObject({ code: 'INFERENCE_REJECTED', stage: 'embed', attempts: '3' });
  await expectExactlyStored(store(), good);
  expect((await worker.stop()).code).toBe(0);
});

it('a text that the model digests after all is stored by its retry, also in the next worker', async () => {
  const sick = await startEngine(['--synthetic', '--fault', `${MARKER}=internal`]);
  const bad = { chunkId: 'bad#1', documentId: 'bad', text: `this is ${MARKER}` };
  await topic.send([bad].map((chunk) => chunkMessage(chunk)));
  const first = await startWorker({ ...workerEnv(sick), RAG_SERVING_RETRY_BACKOFF_MS: '3000' });
  await eventually(
    'it is handed over',
    async () => (await first.metric('rag_serving_chunks_total', 'outcome="handed-over"')) === 1,
    30_000,
  );
  await topic.untilLagZero();
  await first.program.kill();
  const well = await startEngine();
  await startWorker(workerEnv(well));
  await eventually(
    'it is stored',
    async () => {
      await expectExactlyStored(store(), [bad]);
      return true;
    },
    60_000,
  );
  expect(await letters()).toEqual([]);
});
