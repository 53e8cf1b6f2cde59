/** Notes, pointers and dropping of collections on a real LanceDB folder, Redis and PostgreSQL. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { currentChoice, updateChangeover } from '../../src/sinks/changeover.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { createStoreAdmin, oneCollection } from '../../src/sinks/store-admin.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { usePostgres, useRedis } from '../support/stack.ts';
import { runSql } from './pgvector-sink-client.ts';
import { freshCollection } from './sink-contract.ts';
import { contractOf, rowOf } from './sink-rows.ts';
import { describeStoreAdmin } from './store-admin.ts';

const redis = useRedis();
const postgres = usePostgres();
const folder = mkdtempSync(join(tmpdir(), 'rag-admin-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describeStoreAdmin('lancedb', (table) => ({ name: 'lancedb', options: { uri: folder, table } }));
describeStoreAdmin('redis', (keyPrefix) => ({ name: 'redis', options: { url: redis().url, keyPrefix } }));
describeStoreAdmin('pgvector', (table) => ({ name: 'pgvector', options: { url: postgres().url, table } }));

it('PostgreSQL: the view turns with the pointer, also to vectors of other dims, and stays readable for who could read it', async () => {
  const [base, shadow] = [freshCollection(), freshCollection()];
  const { url } = postgres();
  for (const [table, dims] of [
    [base, 8],
    [shadow, 4],
  ] as const) {
    const sink = await createSink({ name: 'pgvector', options: { url, table } }, silentLog, systemClock);
    await sink.open(contractOf('FP16', { dims }));
    await sink.write([rowOf(`in-${table}`, { vector: new Uint8Array(dims * 2) })]);
    await sink.close();
  }
  const admin = await createStoreAdmin({ name: 'pgvector', options: { url, table: base } }, silentLog);
  const turn = (current: string) => updateChangeover(admin, base, (now) => ({ ...now, current }));
  await turn(base);
  await runSql(url, `CREATE ROLE "reader-of-${base}"`, `GRANT SELECT ON "${base}_current" TO "reader-of-${base}"`);
  await turn(shadow);
  expect(await runSql(url, `SELECT chunk_id FROM "${base}_current"`)).toEqual([{ chunk_id: `in-${shadow}` }]);
  const [right] = await runSql(
    url,
    `SELECT has_table_privilege('reader-of-${base}', '"${base}_current"', 'SELECT') AS ok`,
  );
  expect(right?.ok).toBe(true);
  await turn(base);
  expect(await runSql(url, `SELECT chunk_id FROM "${base}_current"`)).toEqual([{ chunk_id: `in-${base}` }]);
  await admin.close();
});

it('looking for a pointer makes nothing: no folder, no table of notes', async () => {
  const uri = join(folder, 'not-there');
  const choice = { name: 'lancedb', options: { uri, table: 'chunks' } } as const;
  expect(await currentChoice(choice, silentLog)).toBe(choice);
  expect(readdirSync(folder)).not.toContain('not-there');
});

it('several stores at once and a store that forgets have no collections to change over; readers read the first', async () => {
  const first = { name: 'lancedb', options: { uri: folder, table: 'chunks' } } as const;
  expect(() => oneCollection({ name: 'memory' })).toThrow(/RAG_SERVING_SINK is memory/);
  expect(() => oneCollection({ name: 'fan-out', members: [first, { name: 'memory' }] })).toThrow(/lancedb,memory/);
  expect(await currentChoice({ name: 'fan-out', members: [first, { name: 'memory' }] }, silentLog)).toBe(first);
});
