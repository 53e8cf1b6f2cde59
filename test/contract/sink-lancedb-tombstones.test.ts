/** Where the LanceDB sink keeps its tombstones, and what a fault between a deletion and its tombstone leaves. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { LanceDbSinkOptions } from '../../src/sinks/lancedb/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { contractOf, deletionOf, rowOf } from './sink-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-lancedb-tombstones-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const lancedb = createRequire(import.meta.url)('@lancedb/lancedb') as typeof import('@lancedb/lancedb');

async function open(table: string, options: Partial<LanceDbSinkOptions> = {}): Promise<Sink> {
  const sink = await createSink(
    { name: 'lancedb', options: { uri: folder, table, ...options } },
    silentLog,
    systemClock,
  );
  onTestFinished(() => sink.close());
  await sink.open(contractOf());
  return sink;
}

async function rowsIn(table: string): Promise<number> {
  const connection = await lancedb.connect(folder);
  try {
    return await (await connection.openTable(table)).countRows();
  } finally {
    connection.close();
  }
}

it('a worker that slept through a deletion may not write, even if the deletion found no row', async () => {
  const [zombie, worker] = [await open('zombie'), await open('zombie')];
  await worker.remove([deletionOf('document', 'doc', 10n)]);
  await expect(zombie.write([rowOf('a', { offset: 9n })])).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/takes one writer/),
  });
  expect(await worker.count()).toBe(0);
  expect(await worker.write([rowOf('a', { offset: 9n }), rowOf('b', { offset: 11n })])).toEqual([
    { kind: 'superseded' },
    { kind: 'stored' },
  ]);
});

it('a deletion without its tombstone is not acknowledged; it comes again and takes what crept in', async () => {
  const sink = await open('torn');
  await sink.write([rowOf('a', { offset: 5n }), rowOf('moved', { offset: 1n, partition: 1 })]);
  const tombstones = join(folder, 'torn_tombstones.lance');
  renameSync(tombstones, `${tombstones}.away`);
  const deletion = deletionOf('document', 'doc', 10n);
  await expect(sink.remove([deletion])).rejects.toMatchObject({ failureClass: 'outage' });
  await sink.close();
  renameSync(`${tombstones}.away`, tombstones);

  const successor = await open('torn');
  await successor.write([rowOf('a', { offset: 5n })]);
  expect(await successor.remove([deletion])).toEqual([{ kind: 'stored' }]);
  expect(await successor.count()).toBe(0);
  expect(await successor.write([rowOf('a', { offset: 5n })])).toEqual([{ kind: 'superseded' }]);
});

it('a deletion that comes again adds no tombstone, and compaction takes away those past their time', async () => {
  const options = { tombstoneRetentionMs: 500, compactAfterCommits: 4, keepVersionsMs: 0 };
  const sink = await open('purged', options);
  const deletions = Array.from({ length: 50 }, (_, n) => deletionOf('chunk', `c${n}`, 10n));
  await sink.remove(deletions);
  await sink.remove(deletions);
  expect(await rowsIn('purged_tombstones')).toBe(50);
  let offset = 20n;
  await expect
    .poll(
      async () => {
        await sink.remove([deletionOf('chunk', 'other', ++offset)]);
        return rowsIn('purged_tombstones');
      },
      { timeout: 20_000 },
    )
    .toBeLessThan(50);
  expect(await sink.write([rowOf('other', { offset: offset - 1n })])).toEqual([{ kind: 'superseded' }]);
  expect(await sink.count()).toBe(0);
});

it('a table of someone else at the place of the tombstones is refused, by both names', async () => {
  const connection = await lancedb.connect(folder);
  await connection.createTable('taken_tombstones', [{ id: 1 }]);
  await expect(open('taken')).rejects.toMatchObject({
    code: 'SINK_SCHEMA_MISMATCH',
    message: expect.stringMatching(/taken_tombstones.*RAG_SERVING_LANCEDB_TABLE/),
  });
});
