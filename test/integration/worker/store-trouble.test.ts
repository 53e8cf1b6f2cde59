/** A Redis that is full, and one that is away, under a whole worker: nothing counts as done that it has not acknowledged. */
import { readFileSync } from 'node:fs';
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
import { contractOf, readStored } from './stored.ts';

const kafka = useKafka({ maxMessageBytes: 4_194_304 });
const redis = useRedis({ args: ['--maxmemory-policy', 'noeviction'] });
let topic: TestTopic;

beforeEach(() => {
  topic = new TestTopic(kafka().bootstrapServers);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
});

function envOf(target: string): Env {
  return {
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: `${topic.topic}:`,
    RAG_SERVING_WORKER_ID: 'store-trouble',
  };
}

async function storedOf(target: string, ids: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  const choice = { name: 'redis', options: { url: redis().url, keyPrefix: `${topic.topic}:` } } as const;
  await readStored(choice, await contractOf(target), ids, (rows) => {
    for (const { chunkId } of rows) found.add(chunkId);
  });
  return found;
}

async function storeReason(worker: WorkerProcess): Promise<string | undefined> {
  const { status, body } = await worker.ready();
  return status === 503 ? body.checks.find(({ name }) => name === 'store')?.reason : undefined;
}

function residentMiB({ program }: WorkerProcess): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1_024;
}

describe('a store', () => {
  it('that is full in mid-batch: none is committed, and with more memory all are there (S01)', async () => {
    await topic.create(1);
    const ids = Array.from({ length: 20 }, (_, i) => `s01#${i}`);
    const chunks = ids.map((id) => ({ chunk_id: id, text: `${id} `.padEnd(100_000, 'x') }));
    await topic.send([{ key: 's01', value: JSON.stringify({ chunks }) }]);
    const { target } = await startEngine();
    const client = new Redis(redis().url);
    const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
    await client.config('SET', 'maxmemory', String(used + 600_000));
    const worker = await startWorker({
      ...envOf(target),
      RAG_SERVING_MAX_TEXT_BYTES: '131072',
      RAG_SERVING_SHM_SLOT_INPUT_BYTES: '4194304',
    });
    await eventually('a write that Redis refuses', async () => (await storeReason(worker)) !== undefined);
    await worker.program.line(({ code }) => code === 'SINK_FULL');
    expect(await client.dbsize()).toBeGreaterThan(1);
    expect(await topic.lag()).toBe(1);
    expect(await worker.metric('rag_serving_chunks_total')).toBe(0);
    await client.config('SET', 'maxmemory', '0');
    client.disconnect();
    await topic.untilLagZero();
    expect(await storedOf(target, ids)).toEqual(new Set(ids));
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(20);
    await eventually('ready', async () => (await worker.ready()).status === 200);
    expect(await readLetters(topic.client, `${topic.topic}.dlq`)).toEqual([]);
  });

  it('that is away: 10,000 chunks wait in bounded memory, a stop ends in time, a start waits, and all are stored (S04)', async () => {
    await topic.create(4);
    const ids = Array.from({ length: 10_000 }, (_, i) => `s04#${i}`);
    const { target } = await startEngine();
    const env = { ...envOf(target), RAG_SERVING_DRAIN_TIMEOUT_MS: '5000', RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: '2000' };
    const first = await startWorker(env);
    await eventually('ready', async () => (await first.ready()).status === 200);
    const before = residentMiB(first);
    await redis().kill();
    await topic.send(ids.map((id) => chunkMessage({ chunkId: id, documentId: id, text: `${id} `.padEnd(1_000, 'x') })));
    await eventually('not ready', async () => (await storeReason(first)) !== undefined);
    await eventually('full', async () => (await first.metric('rag_serving_source_paused')) === 1);
    expect(await first.metric('rag_serving_in_flight_chunks')).toBeLessThanOrEqual(2_000);
    expect(residentMiB(first) - before).toBeLessThan(100);
    expect((await fetch(`http://127.0.0.1:${first.port}/healthz`)).status).toBe(200);
    // Work in hand that cannot be stored is given back, not committed.
    expect(await first.stop('SIGTERM', 15_000)).toEqual({ code: 3, signal: null });
    expect(await topic.lag()).toBe(10_000);

    const second = await startWorker(env);
    await eventually('not ready', async () => (await storeReason(second)) !== undefined);
    await redis().restart();
    await topic.untilLagZero();
    expect(await storedOf(target, ids)).toEqual(new Set(ids));
    expect(await readLetters(topic.client, `${topic.topic}.dlq`)).toEqual([]);
    expect(await second.stop()).toEqual({ code: 0, signal: null });
  });
});
