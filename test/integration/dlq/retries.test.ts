/** `rag-serving retries` beside a real worker whose model refuses texts, with Redis, and without one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka, useRedis } from '../../support/stack.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker } from '../worker/harness.ts';
import { DlqWorld } from './dlq-world.ts';

const kafka = useKafka();
const redis = useRedis();
let world: DlqWorld;

beforeEach(async () => {
  world = new DlqWorld(kafka().bootstrapServers);
  await world.topic.create(1);
});
afterEach(async () => {
  await endPrograms();
  await world.close();
});

const queueEnv = (): Env => ({
  RAG_SERVING_SINK: 'memory',
  RAG_SERVING_RETRY_REDIS_URL: redis().url,
  RAG_SERVING_RETRY_BACKOFF_MS: '600000',
});
const listed = async (...args: string[]) => (await world.run(['retries', 'list', '--json', ...args], queueEnv())).lines;

describe('rag-serving retries', () => {
  it('lists what waits without its text, makes some due, and drops others', async () => {
    const engine = await startEngine(['--synthetic', '--fault', 'POISON=invalid-argument']);
    const env = { ...world.env, ...queueEnv(), RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target };
    const worker = await startWorker(env);
    const chunks = [1, 2, 3, 4].map((n) => ({ chunkId: `c${n}`, documentId: `d${n}`, text: `POISON SENTINEL ${n}` }));
    await world.topic.send(chunks.map((one) => chunkMessage(one)));
    await eventually('four wait', async () => (await listed()).length === 4, 60_000);
    const table = await world.run(['retries', 'list'], queueEnv());
    expect(table.code, table.output).toBe(0);
    expect(table.output).toMatch(
      new RegExp(`^${world.topic.topic}/0/0 +delayed +\\dm +\\d+ +INFERENCE_REJECTED +embed .* c1$`, 'm'),
    );
    expect(table.output).toContain('4 chunks wait for another attempt');
    expect(table.output).not.toContain('SENTINEL');
    expect(await listed('--document', 'd2', '--code', 'INFERENCE_REJECTED')).toMatchObject([{ chunkId: 'c2' }]);

    const unsure = await world.run(['retries', 'drop', '--chunk', 'c1'], queueEnv());
    expect(unsure.code).toBe(2);
    expect(unsure.output).toContain('add --yes');
    const dry = await world.run(['retries', 'drop', '--chunk', 'c1', '--dry-run'], queueEnv());
    expect(dry.output).toContain('would have dropped 1 retries');
    const dropped = await world.run(['retries', 'drop', '--chunk', 'c1', '--yes', '--json'], queueEnv());
    expect(dropped.lines.at(-1)).toMatchObject({ event: 'drop', chosen: 1, done: 1, gone: 0, busy: 0 });

    await engine.program.kill();
    await startEngine(['--synthetic'], engine.grpcPort);
    const hastened = await world.run(['retries', 'run-now', '--chunk', 'c2', '--chunk', 'c3'], queueEnv());
    expect(hastened.code, hastened.output).toBe(0);
    expect(hastened.output).toContain('made due 2 retries');
    const stored = () => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
    await eventually('two are stored', async () => (await stored()) === 2, 60_000);
    await eventually('one is left', async () => (await listed()).length === 1);
    expect((await worker.stop()).code).toBe(0);
  });

  it('an empty queue is empty, no Redis is a setting, and one that is away is an error', async () => {
    const empty = await world.run(['retries', 'list'], queueEnv());
    expect(empty).toMatchObject({ code: 0 });
    expect(empty.output).toContain('0 chunks wait');
    const none = await world.run(['retries', 'run-now', '--json'], queueEnv());
    expect(none.lines.at(-1)).toMatchObject({ event: 'run-now', chosen: 0, done: 0 });
    const unset = await world.run(['retries', 'list'], { RAG_SERVING_SINK: 'memory' });
    expect(unset.code).toBe(2);
    expect(unset.output).toMatch(/RAG_SERVING_RETRY_REDIS_URL is unset/);
    const away = { ...queueEnv(), RAG_SERVING_RETRY_REDIS_URL: 'redis://user:pw-SENTINEL@127.0.0.1:1' };
    const failed = await world.run(['retries', 'list'], away);
    expect(failed.code).toBe(1);
    expect(failed.output).toMatch(/rag-serving: RETRY_QUEUE_UNAVAILABLE: .*127\.0\.0\.1:1/);
    expect(failed.output).not.toContain('SENTINEL');
  });
});
