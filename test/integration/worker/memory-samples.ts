/** Resident memory of a worker over the chunks it has stored, sampled while it works. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunkMessage, type Env, startEngine, startWorker, type TestTopic, type WorkerProcess } from './harness.ts';

export type MemorySample = { readonly seconds: number; readonly chunks: number; readonly rssMb: number };

const EVERY_MS = 50;
const CHUNKS_A_SEND = 1_000;
const CHUNKS_A_DOCUMENT = 10;

/** Sends `count` small chunks, each with an id of its own, and gives them to a worker; resolves when all are stored and it has stopped. */
export async function sampleWorkerMemory(
  topic: TestTopic,
  count: number,
  env: Env,
  limitMs: number,
): Promise<readonly MemorySample[]> {
  await topic.create(6);
  for (let from = 0; from < count; from += CHUNKS_A_SEND) {
    const part = Array.from({ length: Math.min(CHUNKS_A_SEND, count - from) }, (_, i) => smallChunk(from + i));
    await topic.send(part);
  }
  const engine = await startEngine();
  const worker = await startWorker({ RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target, ...env });
  const samples = await samplesUntil(worker, count, limitMs);
  await topic.untilLagZero();
  const exit = await worker.stop();
  if (exit.code !== 0) throw new Error(`the worker ended with ${JSON.stringify(exit)}`);
  return samples;
}

function smallChunk(i: number) {
  const documentId = `doc-${Math.floor(i / CHUNKS_A_DOCUMENT)}`;
  return chunkMessage({ chunkId: `${documentId}#${i}`, documentId, text: `Chunk ${i} says ${'word '.repeat(i % 20)}` });
}

async function samplesUntil(worker: WorkerProcess, count: number, limitMs: number): Promise<MemorySample[]> {
  const samples: MemorySample[] = [];
  for (const startedMs = performance.now(); ; await sleep(EVERY_MS)) {
    const chunks = await worker.metric('rag_serving_chunks_total', 'outcome="persisted"');
    const ms = performance.now() - startedMs;
    samples.push({ seconds: Math.round(ms / 100) / 10, chunks, rssMb: rssMb(worker.program.pid) });
    if (chunks >= count) return samples;
    if (ms > limitMs) throw new Error(`${chunks} of ${count} chunks stored within ${limitMs} ms`);
  }
}

function rssMb(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1_024;
}

/** Code, heap and the caches of LanceDB (48 MiB) fill while the first chunks pass: what is flat, is flat from there on. */
export const WARM_UP_CHUNKS = 100_000;
const WINDOW_CHUNKS = 50_000;

/** RSS in MB, over the first chunks after the warm-up and over the last ones. */
export type Growth = {
  readonly median: { readonly first: number; readonly last: number };
  readonly peak: { readonly first: number; readonly last: number };
};

/** @param count chunks stored in all, warm-up included */
export function growthOf(samples: readonly MemorySample[], count: number): Growth {
  const first = sortedRss(samples, WARM_UP_CHUNKS, WARM_UP_CHUNKS + WINDOW_CHUNKS);
  const last = sortedRss(samples, count - WINDOW_CHUNKS, count);
  return {
    median: { first: first[Math.floor(first.length / 2)]!, last: last[Math.floor(last.length / 2)]! },
    peak: { first: first.at(-1)!, last: last.at(-1)! },
  };
}

function sortedRss(samples: readonly MemorySample[], fromChunks: number, toChunks: number): number[] {
  const within = samples.filter(({ chunks }) => chunks >= fromChunks && chunks <= toChunks);
  if (within.length < 10) throw new Error(`${within.length} samples between ${fromChunks} and ${toChunks} chunks`);
  return within.map(({ rssMb }) => Math.round(rssMb)).sort((a, b) => a - b);
}
