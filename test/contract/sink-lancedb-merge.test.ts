/** That LanceDB, replacing rows on a condition, follows the rule of revision.ts: what holds if a stranger wrote since we read. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { loadLanceDb } from '../../src/sinks/lancedb/library.ts';
import { rowsToArrow } from '../../src/sinks/lancedb/rows.ts';
import { tableSchema } from '../../src/sinks/lancedb/schema.ts';
import { IS_NEWER_IN_MERGE } from '../../src/sinks/lancedb/sql.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { isNewerRevision } from '../../src/sinks/revision.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { contractOf, type RowChanges, rowOf } from './sink-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-lancedb-merge-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function open(table: string): Promise<Sink> {
  const sink = await createSink({ name: 'lancedb', options: { uri: folder, table } }, silentLog, systemClock);
  onTestFinished(() => sink.close());
  await sink.open(contractOf());
  return sink;
}

const revisions: readonly RowChanges[] = [
  ...[0n, 9n, 10n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n].map((offset) => ({ offset })),
  ...[0, 9, 10, 2 ** 53 - 1].map((version) => ({ offset: 9n, version })),
  { offset: 1n, version: 10 },
  { offset: 3n, partition: 1 },
  { offset: 3n, partition: 1, version: 9 },
];

it('for every pair of revisions', async () => {
  const { lancedb, arrow } = loadLanceDb();
  const connection = await lancedb.connect(folder);
  onTestFinished(() => connection.close());
  const contract = contractOf();
  const schema = tableSchema(arrow, contract);
  const pairs = revisions.flatMap((stored, s) =>
    revisions.map((incoming, i) => ({ id: `${s}-${i}`, stored, incoming })),
  );
  const rows = (which: 'stored' | 'incoming') => pairs.map((pair) => rowOf(pair.id, { ...pair[which], text: which }));
  const table = await connection.createTable('pairs', rowsToArrow(arrow, schema, rows('stored'), contract));
  const merged = await table
    .mergeInsert('chunk_id')
    .whenMatchedUpdateAll({ where: IS_NEWER_IN_MERGE })
    .whenNotMatchedInsertAll()
    .execute(rowsToArrow(arrow, schema, rows('incoming'), contract));

  const stored = rows('stored');
  const expected = rows('incoming').map((row, n) => [
    row.chunkId,
    isNewerRevision(row, stored[n]!) ? 'incoming' : 'stored',
  ]);
  const found = new Map((await table.query().toArray()).map((row) => [row.chunk_id, row.text]));
  expect(found).toEqual(new Map(expected as [string, string][]));
  expect(merged.numInsertedRows).toBe(0);
});

it('a stranger who wrote while a write of ours failed is noticed at the next one', async () => {
  const [one, two] = [await open('strange'), await open('strange')];
  await two.write([rowOf('a', { offset: 1n })]);
  const [table, away] = [join(folder, 'strange.lance'), join(folder, 'strange.away')];
  renameSync(table, away);
  await expect(one.write([rowOf('a', { offset: 2n })])).rejects.toMatchObject({ failureClass: 'outage' });
  renameSync(away, table);
  await two.write([rowOf('b', { offset: 3n })]);
  await expect(one.write([rowOf('a', { offset: 4n })])).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect((await two.fetch(['a', 'b'])).map((row) => row.source.offset)).toEqual([1n, 3n]);
});
