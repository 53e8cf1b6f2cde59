/** The worker on a real Triton: the same vectors through shared memory and inside the messages. And on engines that refuse. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Program } from '../../../scripts/stack/program.ts';
import { useKafka, useTriton } from '../../support/stack.ts';
import { corpus, messagesOf } from './corpus.ts';
import { shmFilesOf } from './evidence.ts';
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
import { contractOf, storedVectors } from './stored.ts';

const COUNT = 2_000;
const WORKER_ID = 'triton-test';

const kafka = useKafka();
const triton = useTriton({ models: ['batch_embedder_ensemble'] });
// A CPU takes 5 s a thousand of these; the bytes of a long text travel no differently from those of a short one.
const chunks = corpus({ count: COUNT, seed: 2_000, medianBytes: 16, maxBytes: 96 }).map((chunk, i) => ({
  ...chunk,
  // Else many would share a vector: what the model does not know is all one to it.
  text: `${i} ${chunk.text}`,
}));
const ids = chunks.map(({ chunkId }) => chunkId);
let folder: string;
let topic: TestTopic;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-triton-worker-'));
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(3);
});
afterEach(async () => {
  await endPrograms();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

const table = (name: string) => ({ name: 'lancedb', options: { uri: folder, table: name } }) as const;

function workerOn(target: string, env: Env): Promise<WorkerProcess> {
  return startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_WORKER_ID: WORKER_ID,
    RAG_SERVING_LANCEDB_PATH: folder,
    ...env,
  });
}

/** What a group of its own makes of the topic, in a table of its own. */
async function embedAll(name: string, env: Env): Promise<ReadonlyMap<string, Uint8Array>> {
  const group = `${topic.group}-${name}`;
  const worker = await workerOn(triton().grpcUrl, {
    KAFKA_CONSUMER_GROUP: group,
    RAG_SERVING_LANCEDB_TABLE: name,
    ...env,
  });
  const lag = async () => (await topic.admin.lag(group, topic.topic)).reduce((sum, { lag }) => sum + Number(lag), 0);
  await eventually(`lag 0 of ${group}`, async () => (await lag()) === 0, 60_000, 250);
  expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(COUNT);
  const transports = ['shared_memory', 'inline', 'other'];
  const [sharedMemory, inline, failed] = await Promise.all(
    transports.map((transport) => worker.metric('rag_serving_batches_total', `transport="${transport}"`)),
  );
  expect({ sharedMemory: sharedMemory! > 0, inline: inline! > 0, failed }).toEqual({
    sharedMemory: name === 'shm',
    inline: name === 'inline',
    failed: 0,
  });
  expect(await worker.stop()).toEqual({ code: 0, signal: null });
  expect(shmFilesOf(WORKER_ID)).toEqual([]);
  return storedVectors(table(name), await contractOf(triton().grpcUrl), ids);
}

describe('a real Triton', () => {
  it(`gives ${COUNT} chunks the same vectors through shared memory and inside the messages, bit for bit`, async () => {
    for (const part of messagesOf(chunks)) await topic.send(part);
    const shared = await embedAll('shm', {});
    const inline = await embedAll('inline', { RAG_SERVING_SHM_MODE: 'off' });
    expect([shared.size, inline.size]).toEqual([COUNT, COUNT]);
    const different = ids.filter((id) => !Buffer.from(shared.get(id)!).equals(inline.get(id)!));
    expect(different).toEqual([]);
    const distinct = new Set([...shared.values()].map((vector) => Buffer.from(vector).toString('base64'))).size;
    expect(distinct).toBeGreaterThan(COUNT * 0.99);
  });
});

const refusing = [
  ['refuses client shared memory', () => startEngine(['--synthetic', '--allow-client-shm', 'false'])],
  ['does not see our mount', () => startEngineElsewhere()],
] as const;

async function startEngineElsewhere(): Promise<{ readonly target: string }> {
  const ports = ['--grpc-port', '0', '--http-port', '0', '--metrics-port', '0'];
  const program = new Program(['engine', '--synthetic', ...ports], { RAG_SERVING_SHM_BASE_PATH: folder });
  const { grpcPort } = await program.line(({ event }) => event === 'engine ready');
  return { target: `127.0.0.1:${grpcPort}` };
}

describe.each(refusing)('an engine that %s', (_, start) => {
  it('gets its batches inside the messages, and no file stays', async () => {
    for (const part of messagesOf(chunks)) await topic.send(part);
    const { target } = await start();
    const worker = await workerOn(target, {});
    await topic.untilLagZero();
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(COUNT);
    expect(await worker.metric('rag_serving_batches_total', 'transport="inline"')).toBeGreaterThan(COUNT / 256);
    expect(await worker.metric('rag_serving_batches_total', 'transport="shared_memory"')).toBe(0);
    expect(shmFilesOf(WORKER_ID)).toEqual([]);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect((await storedVectors(table('chunks'), await contractOf(target), ids)).size).toBe(COUNT);
  });

  it('stops a worker that requires it: exit code 1, one error that says what to do, nothing read', async () => {
    await topic.send(chunks.slice(0, 10).map((chunk) => chunkMessage(chunk)));
    const { target } = await start();
    const worker = await workerOn(target, { RAG_SERVING_SHM_MODE: 'required' });
    expect(await worker.program.exited).toEqual({ code: 1, signal: null });
    const errors = worker.log.filter(({ level }) => level === 'ERROR');
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors)).toMatch(/SHM_UNSUPPORTED.*RAG_SERVING_SHM_MODE.*--allow-client-shm/);
    expect(await topic.lag()).toBe(10);
    expect(shmFilesOf(WORKER_ID)).toEqual([]);
  });
});
