/** What the pgvector sink does when a real PostgreSQL refuses rows, is slow, locked, full or changed under it. */
import { expect, it } from 'vitest';
import { usePostgres } from '../support/stack.ts';
import { addTrigger, openPgVectorSink, plainSession, runSql } from './pgvector-sink-client.ts';
import { spell } from './redis-sink-client.ts';
import { expectLogHolds } from './sink-rivals.ts';
import { deletionOf, rowOf, vectorOf } from './sink-rows.ts';

const postgres = usePostgres();
const STORED = { kind: 'stored' };
const SUPERSEDED = { kind: 'superseded' };

function batch(count: number) {
  return Array.from({ length: count }, (_, n) => rowOf(`c${n}`, { offset: BigInt(n), text: 'some text' }));
}

it('rows that break a constraint are refused by its name, and their neighbours are stored (K20)', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'checked' });
  await runSql(postgres().url, `ALTER TABLE checked ADD CONSTRAINT short_text CHECK (length(text) < 20)`);
  const rows = batch(100).map((row, n) => (n % 33 === 7 ? { ...row, text: 'text-SENTINEL '.repeat(3) } : row));
  const outcomes = await sink.write(rows);
  expect(outcomes.flatMap(({ kind }, n) => (kind === 'refused' ? [n] : []))).toEqual([7, 40, 73]);
  expect(outcomes[7]).toMatchObject({
    error: { code: 'SINK_ROW_REFUSED', message: expect.stringMatching(/23514.*constraint short_text/) },
  });
  expect(spell(outcomes)).not.toContain('SENTINEL');
  expect(await sink.count()).toBe(97);
});

it('ten rows, three of them with NUL in text, metadata and id: all ten are stored and come back (P03)', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'nul' });
  const rows = batch(10).map((row, n) => {
    if (n === 5) return { ...row, text: 'a\u0000b' };
    if (n === 6) return { ...row, metadata: { key: 'a\u0000b' } };
    return n === 7 ? { ...row, chunkId: 'c\u00007' } : row;
  });
  expect(await sink.write(rows)).toEqual(rows.map(() => STORED));
  const fetched = await sink.fetch(rows.map(({ chunkId }) => chunkId));
  expect(fetched.map(({ chunkId, text, metadata }) => ({ chunkId, text, metadata }))).toEqual(
    rows.map(({ chunkId, text, metadata }) => ({ chunkId, text, metadata })),
  );
  // Whoever reads the table with SQL meets no value that a query would fail on.
  const found = await runSql(postgres().url, `SELECT chunk_id FROM nul WHERE metadata->>'key' LIKE 'a%b'`);
  expect(found).toEqual([{ chunk_id: 'c6' }]);
});

it('a vector that is not finite in the column is refused alone', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'finite' });
  const infinite = new Uint8Array(Uint16Array.of(0x7c00, 0, 0, 0, 0, 0, 0, 0).buffer);
  const nan = new Uint8Array(Uint16Array.of(0, 0, 0, 0, 0, 0, 0, 0xfe00).buffer);
  const rows = [rowOf('a'), rowOf('b', { vector: infinite }), rowOf('c', { vector: nan }), rowOf('d')];
  const outcomes = await sink.write(rows);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'refused', 'refused', 'stored']);
  expect(outcomes[1]).toMatchObject({ error: { details: { field: 'vector' } } });
});

it('a disk that is full: the call is an outage, none counts as stored, and the retry stores all', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'full' });
  const raise = `IF NEW.chunk_id = 'c9' THEN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END IF;`;
  const mend = await addTrigger(postgres().url, 'full', raise);
  await expect(sink.write(batch(20))).rejects.toMatchObject({ code: 'SINK_FULL', failureClass: 'outage' });
  expect(await sink.count()).toBe(0);
  await mend();
  expect(await sink.write(batch(20))).toEqual(batch(20).map(() => STORED));
});

it('deadlocks are tried again, and nobody hears of them', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'deadlocked' });
  // A sequence keeps its count over a rollback.
  await runSql(postgres().url, 'CREATE SEQUENCE tries');
  const raise = `IF NEW.chunk_id = 'c0' AND nextval('tries') <= 2 THEN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END IF;`;
  await addTrigger(postgres().url, 'deadlocked', raise);
  expect(await sink.write(batch(20))).toEqual(batch(20).map(() => STORED));
});

it('slower than the limit: an outage, ended in the server too', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'slow', statementTimeoutMs: 300 });
  const mend = await addTrigger(postgres().url, 'slow', 'PERFORM pg_sleep(30);');
  await expect(sink.write(batch(2))).rejects.toMatchObject({
    ...{ code: 'SINK_UNAVAILABLE', failureClass: 'outage' },
    message: expect.stringMatching(/57014.*STATEMENT_TIMEOUT/),
  });
  const active = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'rag-serving-sink' AND state = 'active'`;
  expect(await runSql(postgres().url, active)).toEqual([{ n: 0 }]);
  await mend();
  expect(await sink.write(batch(2))).toEqual([STORED, STORED]);
});

it('a table locked by a migration: an outage that ends with the lock', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'locked', statementTimeoutMs: 300 });
  const migration = await plainSession(postgres().url);
  await migration.query('BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE');
  await expect(sink.write(batch(2))).rejects.toMatchObject({ failureClass: 'outage' });
  await migration.query('ROLLBACK');
  await migration.end();
  expect(await sink.write(batch(2))).toEqual([STORED, STORED]);
});

it('a table that is dropped under the worker is fatal', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'dropped' });
  await runSql(postgres().url, 'DROP TABLE dropped');
  await expect(sink.write(batch(2))).rejects.toMatchObject({ code: 'SINK_SCHEMA_MISMATCH', failureClass: 'fatal' });
});

it('a repeatable-read default of the database does not blind a write to a deletion', async () => {
  await runSql(postgres().url, `ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'`);
  try {
    const options = { url: postgres().url, table: 'isolation', statementTimeoutMs: 20_000 };
    const sinks = [await openPgVectorSink(options), await openPgVectorSink(options)] as const;
    for (let step = 0n; step < 60n; step += 2n) {
      await Promise.all([
        sinks[0].write([rowOf('a', { offset: step })]),
        sinks[1].remove([deletionOf('chunk', 'a', step + 1n)]),
      ]);
      expect(await sinks[0].count()).toBe(0);
    }
  } finally {
    await runSql(postgres().url, 'ALTER DATABASE postgres RESET default_transaction_isolation');
  }
});

it('two workers that write and delete the same chunks at once end as the log says', async () => {
  const options = { url: postgres().url, table: 'both', statementTimeoutMs: 20_000 };
  await expectLogHolds([await openPgVectorSink(options), await openPgVectorSink(options)]);
});

it('expired tombstones go with the next deletion', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'expiry', tombstoneRetentionMs: 1 });
  const ids = Array.from({ length: 20 }, (_, n) => `c${n}`);
  await sink.remove(ids.map((id) => deletionOf('chunk', id, 9n)));
  await sink.remove([deletionOf('chunk', 'last', 9n)]);
  expect(await runSql(postgres().url, 'SELECT id FROM expiry_tombstones')).toEqual([{ id: 'last' }]);
});

it('more rows than a statement may have parameters, doubles among them, go in by one call (P12)', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'large', statementTimeoutMs: 60_000 });
  const rows = Array.from({ length: 6_000 }, (_, n) => rowOf(`c${n % 5_000}`, { offset: BigInt(n) }));
  const outcomes = await sink.write(rows);
  expect(outcomes.map(({ kind }) => kind)).toEqual(rows.map((_, n) => (n < 1_000 ? 'superseded' : 'stored')));
  expect(await sink.count()).toBe(5_000);
  expect(await sink.write([rowOf('c0', { offset: 1n })])).toEqual([SUPERSEDED]);
});

it('with an index on the vectors, searches use it and find the nearest', async () => {
  const sink = await openPgVectorSink({ url: postgres().url, table: 'indexed' });
  await runSql(postgres().url, 'CREATE INDEX ON indexed USING hnsw (vector halfvec_cosine_ops)');
  await sink.write(Array.from({ length: 200 }, (_, n) => rowOf(`c${n}`, { vector: vectorOf([1, n / 100]) })));
  const [hit] = await sink.search(Float32Array.of(1, 0.5, 0, 0, 0, 0, 0, 0), 1);
  expect(hit?.chunkId).toBe('c50');
});
