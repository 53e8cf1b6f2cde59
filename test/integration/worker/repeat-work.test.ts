/** How much is embedded twice, by the engine's own count: what was in flight, and nothing else. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka, useRedis } from '../../support/stack.ts';
import { chunksNamed, committedChunks, embeddedTexts, expectExactlyStored, lancedbAt, redisAt } from './evidence.ts';
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

const kafka = useKafka();
const redis = useRedis();
let folder: string;
let topic: TestTopic;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-worker-'));
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

const BATCH = 32;

const workerWith = (env: Env) =>
  startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_MAX_BATCH_SIZE: String(BATCH),
    RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
    // The broker waits for a dead member until its session ends.
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    ...env,
  });

const persisted = (worker: WorkerProcess) => worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
const inFlight = (worker: WorkerProcess) => worker.metric('rag_serving_in_flight_chunks');

describe('kill -9 with work done out of order', () => {
  it('only what was in flight is embedded again', async () => {
    const COUNT = 640;
    await topic.create(2);
    const chunks = chunksNamed('repeat', COUNT);
    const warm = chunksNamed('warm', 8 * BATCH);
    // Batches go to both in turn; one keeps its own, so that every other batch of each partition is done.
    const quick = await startEngine(['--synthetic']);
    const stuck = await startEngine(['--synthetic', '--fault', 'repeat text=late', '--late-ms', '600000']);
    const worker = {
      RAG_SERVING_LANCEDB_PATH: folder,
      RAG_SERVING_BATCHES_IN_FLIGHT: String(COUNT / BATCH),
      RAG_SERVING_SHM_MODE: 'off',
    };
    const victim = await workerWith({
      ...worker,
      RAG_SERVING_BATCH_INGEST_GRPC_URL: `${quick.target},${stuck.target}`,
    });
    // A call goes past an endpoint that is only being connected to.
    await topic.send(warm.map((chunk) => chunkMessage(chunk)));
    await topic.untilLagZero();
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    await eventually('some is done', async () => (await persisted(victim)) >= warm.length + COUNT / 4);
    let open = -1;
    await eventually('the rest is stuck', async () => open === (open = await inFlight(victim)), 20_000, 1_000);
    expect(open).toBeGreaterThan(BATCH);
    expect(open).toBeLessThan(COUNT);
    const committed = await committedChunks(topic);
    expect(warm.length + COUNT - committed, 'the commit points alone would repeat more').toBeGreaterThan(open);
    await victim.stop('SIGKILL');

    const before = await embeddedTexts(quick, 0);
    const successor = await workerWith({ ...worker, RAG_SERVING_BATCH_INGEST_GRPC_URL: quick.target });
    await topic.untilLagZero();
    expect((await embeddedTexts(quick, 1)) - before).toBe(open);
    expect(await successor.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(lancedbAt(folder), [...warm, ...chunks]);
  });
});

describe('a rebalance', () => {
  it('that leaves a partition where it is repeats nothing of it, and little of what moves', async () => {
    const COUNT = 4_000;
    await topic.create(4);
    const chunks = chunksNamed('kept', COUNT);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const [one, two] = [
      await startEngine(['--synthetic', '--batch-ms', '100']),
      await startEngine(['--synthetic', '--batch-ms', '100']),
    ];
    const store = {
      RAG_SERVING_SINK: 'redis',
      RAG_SERVING_REDIS_URL: redis().url,
      RAG_SERVING_REDIS_KEY_PREFIX: topic.topic,
      RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: '256',
    };
    const first = await workerWith({ ...store, RAG_SERVING_BATCH_INGEST_GRPC_URL: one.target });
    await eventually('some are stored', async () => (await persisted(first)) >= 500);
    const second = await workerWith({ ...store, RAG_SERVING_BATCH_INGEST_GRPC_URL: two.target });
    await second.program.line(({ msg, gained }) => msg === 'partitions assigned' && JSON.stringify(gained).length > 2);
    const held = await first.program.line(({ msg }) => msg === 'joining again');
    await topic.untilLagZero();
    await sleep(1_000);
    const embedded = (await embeddedTexts(one, 1)) + (await embeddedTexts(two, 1));
    const repeated = embedded - COUNT;
    // What the hold did not see finished, of the partitions that moved.
    const leftOver = Number(held.inFlightChunks ?? 0);
    expect(repeated).toBeGreaterThanOrEqual(0);
    expect(repeated).toBeLessThanOrEqual(leftOver);
    expect(await second.stop()).toEqual({ code: 0, signal: null });
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    await expectExactlyStored(redisAt(redis().url, topic.topic), chunks);
  });
});
