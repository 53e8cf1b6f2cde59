/** What is embedded twice, text by text from the engine's own journal: only what was in flight, and nothing that stayed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectExactlyStored, redisAt } from '../integration/worker/evidence.ts';
import {
  chunkMessage,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  type TestChunk,
  TestTopic,
  type WorkerProcess,
} from '../integration/worker/harness.ts';
import { useKafka, useRedis } from '../support/stack.ts';
import { readJournal, sha256 } from './journal.ts';

const PARTITIONS = 12;
const CHUNKS = 12_000;
const SLOTS = 4;
const BATCH = 256;

const kafka = useKafka();
const redis = useRedis({ appendonly: true });
let folder: string;
let journal: string;
let topic: TestTopic;
let target: string;

type PlacedChunk = TestChunk & { readonly partition: number };
const chunks: readonly PlacedChunk[] = Array.from({ length: CHUNKS }, (_, i) => ({
  chunkId: `doc-${i % 240}#${i}`,
  documentId: `doc-${i % 240}`,
  text: `text number ${i} of ${'some words '.repeat(i % 40)}`,
  partition: (i % 240) % PARTITIONS,
}));

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-repeat-'));
  journal = join(folder, 'journal');
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(PARTITIONS);
  const engine = await startEngine(['--synthetic', '--batch-ms', '60', '--journal', journal]);
  target = engine.target;
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

const workerNamed = (id: string): Promise<WorkerProcess> =>
  startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_WORKER_ID: id,
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: redis().url,
    RAG_SERVING_REDIS_KEY_PREFIX: `${topic.topic}:`,
    RAG_SERVING_SHM_SLOTS: String(SLOTS),
    RAG_SERVING_MAX_BATCH_SIZE: String(BATCH),
    RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: '2048',
    // The broker waits for a killed member until its session ends.
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
  });

const send = () => topic.send(chunks.map((chunk) => ({ ...chunkMessage(chunk), partition: chunk.partition })));
const untilEmbedded = (count: number) =>
  eventually(`${count} texts embedded`, () => readJournal(journal).size >= count, 60_000, 50);

async function finish(workers: readonly WorkerProcess[]): Promise<void> {
  await topic.untilLagZero(90_000);
  for (const worker of workers) expect(await worker.stop()).toEqual({ code: 0, signal: null });
  await expectExactlyStored(redisAt(redis().url, `${topic.topic}:`), chunks);
}

/** Chunks that were embedded more than once. */
function repeated(): PlacedChunk[] {
  const embeddings = readJournal(journal);
  return chunks.filter(({ text }) => (embeddings.get(sha256(text))?.length ?? 0) > 1);
}

function assignments({ log }: WorkerProcess): { gained: number[]; lost: number[] }[] {
  return log.filter(({ msg }) => msg === 'partitions assigned') as unknown as { gained: number[]; lost: number[] }[];
}

describe('after a SIGKILL', () => {
  it('only what was in flight is embedded again: at most what the slots hold, and 2 %', async () => {
    await send();
    const victim = await workerNamed('repeat-kill');
    await untilEmbedded(CHUNKS / 3);
    await victim.stop('SIGKILL');
    const successor = await workerNamed('repeat-kill');
    await finish([successor]);
    const again = repeated().length;
    process.stdout.write(`embedded again after SIGKILL: ${again} of ${CHUNKS}\n`);
    expect(again).toBeLessThanOrEqual(SLOTS * BATCH + 0.02 * CHUNKS);
  });
});

describe('after a rebalance', () => {
  it('none of what a worker keeps is embedded again, when another joins and when it leaves', async () => {
    await send();
    const stays = await workerNamed('repeat-stays');
    await untilEmbedded(CHUNKS / 6);
    const guest = await workerNamed('repeat-guest');
    await eventually('the guest has its share', () => assignments(guest).some(({ gained }) => gained.length > 0));
    const gone = new Set(assignments(stays).flatMap(({ lost }) => lost));
    await untilEmbedded(CHUNKS / 2);
    expect(await guest.stop()).toEqual({ code: 0, signal: null });
    await finish([stays]);
    const kept = repeated().filter(({ partition }) => !gone.has(partition));
    process.stdout.write(
      `embedded again after two rebalances: ${repeated().length}, of kept partitions ${kept.length}\n`,
    );
    expect(gone.size).toBeLessThan(PARTITIONS);
    expect(kept).toEqual([]);
  });
});
