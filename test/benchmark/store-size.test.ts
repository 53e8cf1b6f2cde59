/**
 * What a row costs each store beyond its vector and text: keys, hashes, indexes of the store itself, no vector index.
 * Bytes, not times, so a busy machine changes nothing. Raw numbers to docs/benchmarks/store-size.json; `rag-serving plan`
 * counts with them (workers/plan/store.ts).
 */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { systemClock } from '../../src/clock.ts';
import { encodeFp16 } from '../../src/kserve/fp16.ts';
import { createSink, type SingleSinkChoice } from '../../src/sinks/registry.ts';
import type { SinkRow } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { storeOverheadBytes } from '../../workers/plan/store.ts';
import { runSql } from '../contract/pgvector-sink-client.ts';
import { contractOf, rowOf } from '../contract/sink-rows.ts';
import { usePostgres, useRedis } from '../support/stack.ts';

const DIMS = 384;
const BATCH = 256;
const BATCHES = 80;
const ROWS = BATCH * BATCHES;
const TEXT_BYTES = 700;
const PAYLOAD = DIMS * 2 + TEXT_BYTES;

const postgres = usePostgres();
const redis = useRedis();
const results: Record<string, unknown> = {};

afterAll(() => {
  const said = { node: process.version, rows: ROWS, dims: DIMS, dtype: 'FP16', textBytes: TEXT_BYTES, ...results };
  writeFileSync(join(committedPath('docs'), 'benchmarks', 'store-size.json'), `${JSON.stringify(said, null, 1)}\n`);
});

/** Text that does not compress to nothing, vectors that differ; the same in each run. */
function batch(first: number): SinkRow[] {
  let seed = 7 + first;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  return Array.from({ length: BATCH }, (_, n) => {
    const offset = BigInt(first + n);
    const text = Array.from({ length: TEXT_BYTES }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('');
    const vector = encodeFp16(Float32Array.from({ length: DIMS }, () => random() - 0.5));
    return rowOf(`document-${offset}#0`, { offset, text, vector, documentId: `document-${offset}` });
  });
}

async function fill(choice: SingleSinkChoice): Promise<void> {
  const sink = await createSink(choice, silentLog, systemClock);
  try {
    await sink.open(contractOf('FP16', { dims: DIMS }));
    for (let n = 0; n < BATCHES; n++) await sink.write(batch(n * BATCH));
    expect(await sink.count()).toBe(ROWS);
  } finally {
    await sink.close();
  }
}

/** The constant of `plan` lies within a quarter of what was measured, or this fails. */
function record(store: keyof typeof storeOverheadBytes, bytes: number): void {
  const perRow = bytes / ROWS;
  const overhead = Math.round(perRow - PAYLOAD);
  results[store] = { bytesPerRow: Math.round(perRow), overheadBytes: overhead };
  const counted = storeOverheadBytes[store];
  expect(Math.abs(counted - overhead), `${store}: measured ${overhead}, counted ${counted}`).toBeLessThan(perRow / 4);
}

it('redis', async () => {
  const client = new Redis(redis().url);
  onTestFinished(() => client.disconnect());
  const used = async () => Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1]);
  const before = await used();
  await fill({ name: 'redis', options: { url: redis().url } });
  record('redis', (await used()) - before);
});

it('pgvector', async () => {
  await fill({ name: 'pgvector', options: { url: postgres().url, table: 'sized' } });
  const [row] = await runSql(postgres().url, "SELECT pg_total_relation_size('sized')::int AS bytes");
  record('pgvector', Number(row?.bytes));
});

it('lancedb', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rag-store-size-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await fill({ name: 'lancedb', options: { uri: folder, table: 'sized' } });
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  record(
    'lancedb',
    files.reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0),
  );
});
