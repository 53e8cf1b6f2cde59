/**
 * What a batch of 256 rows costs the pgvector sink: rows a second with one and with four calls at once, CPU of this process a
 * row, without a vector index and with one; and beside it the same rows as a plain INSERT with VALUES, vectors as text.
 * The server shares the machine. Raw numbers to docs/benchmarks/pgvector.json.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { decodeFp16, encodeFp16 } from '../../src/kserve/fp16.ts';
import type { SinkRow } from '../../src/sinks/sink.ts';
import { openSized, plainSession, runSql } from '../contract/pgvector-sink-client.ts';
import { rowOf } from '../contract/sink-rows.ts';
import { usePostgres } from '../support/stack.ts';

const DIMS = 384;
const BATCH = 256;
const TEXT = 'A paragraph of seven hundred bytes, as chunks of prose are. '.repeat(12).slice(0, 700);
const postgres = usePostgres({ settings: { shared_buffers: '256MB' } });
const results: Record<string, unknown> = {};
const loadBefore = loadavg()[0];

afterAll(() => {
  const folder = join(committedPath('docs'), 'benchmarks');
  mkdirSync(folder, { recursive: true });
  const machine = { node: process.version, cores: availableParallelism(), loadBefore };
  writeFileSync(
    join(folder, 'pgvector.json'),
    `${JSON.stringify({ machine, dims: DIMS, batch: BATCH, ...results }, null, 1)}\n`,
  );
});

/** Vectors of length 1 that differ, from a small generator of its own: the same in each run. */
function batches(count: number, first = 0): SinkRow[][] {
  let seed = 7 + first;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5;
  return Array.from({ length: count }, (_, batch) =>
    Array.from({ length: BATCH }, (_, n) => {
      const values = Float32Array.from({ length: DIMS }, random);
      const norm = Math.hypot(...values);
      const offset = BigInt(first + batch * BATCH + n);
      return rowOf(`doc-${offset}`, { offset, text: TEXT, vector: encodeFp16(values.map((value) => value / norm)) });
    }),
  );
}

async function measure(all: SinkRow[][], atOnce: number, write: (rows: SinkRow[]) => Promise<unknown>) {
  const queue = [...all];
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
  const lane = async () => {
    for (let rows = queue.shift(); rows !== undefined; rows = queue.shift()) await write(rows);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const rows = all.length * BATCH;
  return {
    rows,
    atOnce,
    rowsPerSecond: Math.round(rows / seconds),
    cpuMicrosPerRow: Math.round((user + system) / rows),
  };
}

it('new rows, one call at a time and four', async () => {
  for (const atOnce of [1, 4]) {
    const sink = await openSized(postgres().url, `fresh_${atOnce}`, DIMS);
    await measure(batches(8), 1, (rows) => sink.write(rows));
    results[`new rows, ${atOnce} at once`] = await measure(batches(60, 100_000), atOnce, (rows) => sink.write(rows));
    results[`the same rows again, ${atOnce} at once`] = await measure(batches(60, 100_000), atOnce, (rows) =>
      sink.write(rows),
    );
    expect(await sink.count()).toBe(68 * BATCH);
  }
});

it('the same rows as VALUES with vectors as text', async () => {
  const sink = await openSized(postgres().url, 'as_values', DIMS);
  await sink.close();
  const session = await plainSession(postgres().url);
  const columns =
    'chunk_id, document_id, fingerprint, text_sha256, text, truncated, source_topic, source_partition, source_offset, embedded_at, vector';
  const insert = async (rows: SinkRow[]) => {
    const values = rows.map(
      (_, row) => `(${Array.from({ length: 11 }, (_, at) => `$${row * 11 + at + 1}`).join(',')})`,
    );
    const parameters = rows.flatMap(({ chunkId, documentId, textSha256, text, truncated, source, vector }) => [
      ...[chunkId, documentId, 'fp-one', textSha256, text, truncated, source.topic, source.partition],
      ...[String(source.offset), new Date(0), `[${decodeFp16(vector).join(',')}]`],
    ]);
    await session.query(
      `INSERT INTO as_values (${columns}) VALUES ${values.join(',')} ON CONFLICT (chunk_id) DO UPDATE SET vector = excluded.vector`,
      parameters,
    );
  };
  await measure(batches(8), 1, insert);
  results['VALUES with text vectors, no guard, 1 at once'] = await measure(batches(60, 100_000), 1, insert);
  await session.end();
  expect(await runSql(postgres().url, 'SELECT count(*)::int AS n FROM as_values')).toEqual([{ n: 68 * BATCH }]);
});

it('new rows into a table with an HNSW index', async () => {
  const sink = await openSized(postgres().url, 'indexed', DIMS);
  await runSql(postgres().url, 'CREATE INDEX ON indexed USING hnsw (vector halfvec_cosine_ops)');
  results['new rows with an HNSW index, 4 at once'] = await measure(batches(16), 4, (rows) => sink.write(rows));
  expect(await sink.count()).toBe(16 * BATCH);
}, 600_000);
