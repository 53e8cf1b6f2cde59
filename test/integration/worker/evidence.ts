/**
 * What a run has left, seen from outside the worker: rows in the store and whose vectors they hold, texts that the engine
 * embedded, members and commits of the group, regions at the engine, files in /dev/shm.
 */
import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { syntheticVector } from '../../../src/engine/synthetic.ts';
import { createGrpcInferenceClient } from '../../../src/inference/grpc-client.ts';
import type { VectorContract } from '../../../src/kserve/contract.ts';
import { decodeTail } from '../../../src/offsets/commit-metadata.ts';
import { countOffsets } from '../../../src/offsets/offset-range.ts';
import type { SinkChoice } from '../../../src/sinks/registry.ts';
import type { StoredRow } from '../../../src/sinks/sink.ts';
import type { EngineProcess, TestChunk, TestTopic } from './harness.ts';
import { readStored } from './stored.ts';

/** What `rag-serving engine --synthetic` serves. */
const synthetic: VectorContract = {
  modelName: 'batch_embedder_ensemble',
  fingerprint: 'synthetic-sha256/none/l2/FP16/384',
  dims: 384,
  dtype: 'FP16',
  maxBatch: 256,
};

export const lancedbAt = (folder: string): SinkChoice => ({
  name: 'lancedb',
  options: { uri: folder, table: 'chunks' },
});
export const redisAt = (url: string, keyPrefix: string): SinkChoice => ({ name: 'redis', options: { url, keyPrefix } });

/** Chunks of `documents` documents in turn, each with a text of its own. */
export function chunksNamed(prefix: string, count: number, documents = 50): TestChunk[] {
  return Array.from({ length: count }, (_, i) => ({
    chunkId: `${prefix}-${i % documents}#${i}`,
    documentId: `${prefix}-${i % documents}`,
    text: `${prefix} text number ${i}`,
  }));
}

/** Ids of what is stored so far, of those asked for. */
export async function storedIds(choice: SinkChoice, chunks: readonly TestChunk[]): Promise<ReadonlySet<string>> {
  return new Set((await rowsOf(choice, chunks)).rows.keys());
}

/** Every chunk once and nothing else, in its own version where it has one, with the vector of its own text bit for bit. */
export async function expectExactlyStored(
  choice: SinkChoice,
  chunks: readonly (TestChunk & { readonly version?: number })[],
): Promise<void> {
  const { rows, count } = await rowsOf(choice, chunks);
  const wrong = chunks.flatMap(({ chunkId, text, version }) => {
    const row = rows.get(chunkId);
    if (row === undefined) return [`${chunkId} is lost`];
    if (row.version !== version) return [`${chunkId} is stored as version ${row.version}, not ${version}`];
    const right = Buffer.from(syntheticVector(Buffer.from(text), synthetic.dims)).equals(row.vector);
    return right ? [] : [`${chunkId} has a wrong vector`];
  });
  expect(wrong).toEqual([]);
  expect(count).toBe(chunks.length);
}

async function rowsOf(choice: SinkChoice, chunks: readonly TestChunk[]) {
  const rows = new Map<string, StoredRow>();
  const ids = chunks.map(({ chunkId }) => chunkId);
  const count = await readStored(choice, synthetic, ids, (page) => {
    for (const row of page) rows.set(row.chunkId, row);
  });
  return { rows, count };
}

/**
 * Texts that the engine's embedder has executed since it started, but for those that were no chunks: each worker that
 * starts tries the engine with one known good text.
 */
export async function embeddedTexts(engine: EngineProcess, workersStarted: number): Promise<number> {
  const { metricsPort } = await engine.program.line(({ event }) => event === 'engine ready');
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const line = /^nv_inference_count\{model="batch_embedder_ensemble".*\} (\d+)$/m.exec(text);
  return Number(line?.[1]) - workersStarted;
}

/** Names of the client regions that the engine knows. */
export async function regionsAt(engine: EngineProcess): Promise<string[]> {
  const client = createGrpcInferenceClient({
    target: engine.target,
    targetSetting: 'test',
    receiveLimitBytes: 1_048_576,
  });
  try {
    return (await client.listSharedMemory({ timeoutMs: 5_000 })).map(({ name }) => name);
  } finally {
    client.close();
  }
}

export function shmFilesOf(workerId: string): string[] {
  return readdirSync('/dev/shm').filter((name) => name.startsWith(`rag-${workerId}-`));
}

/** Members that the broker counts at this moment. */
export async function groupMembers({ client, group }: TestTopic): Promise<number> {
  const admin = client.kafka.admin();
  await admin.connect();
  try {
    const { groups } = await admin.describeGroups([group]);
    return groups[0]?.members.length ?? 0;
  } finally {
    await admin.disconnect();
  }
}

/** Committed offsets of all partitions together; with one chunk a message, the number of chunks that are settled. */
export async function committedChunks({ admin, group, topic }: TestTopic): Promise<number> {
  const offsets = await admin.committedOffsets(group, topic);
  return [...offsets.values()].reduce((sum, offset) => sum + Math.max(0, Number(offset)), 0);
}

/** Chunks that a successor will not embed: before the commit points, and told beside them. One chunk a message. */
export async function chunksDoneForGood({ admin, group, topic }: TestTopic): Promise<number> {
  const held = await admin.groupOffsets(group, topic);
  return [...held.values()].reduce((sum, { offset, metadata }) => {
    if (offset < 0n) return sum;
    const tail = decodeTail(offset, metadata);
    return sum + Number(offset) + (tail.kind === 'tail' ? Number(countOffsets(tail.done)) : 0);
  }, 0);
}

export async function expectNoDeadLetters({ admin, topic }: TestTopic): Promise<void> {
  expect(await admin.topicExists(`${topic}.dlq`)).toBe(false);
}
