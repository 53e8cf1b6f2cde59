/** The stack's PostgreSQL: comes up with pgvector, is killed and restarted with its data, and leaves nothing behind. */
import { existsSync, readdirSync } from 'node:fs';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { startPostgres } from '../../scripts/stack/postgres.ts';

async function ask(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

it('has pgvector with halfvec, keeps its data over a kill, ends while a client is connected, and leaves nothing', async () => {
  const segments = async () => readdirSync('/dev/shm').filter((name) => name.startsWith('PostgreSQL'));
  const before = await segments();
  const server = await startPostgres();
  try {
    await ask(server.url, 'CREATE EXTENSION vector');
    await ask(server.url, "CREATE TABLE kept AS SELECT '[1,0.5]'::halfvec AS v");
    await server.kill('SIGKILL');
    await expect(ask(server.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await server.restart();
    expect(await ask(server.url, 'SELECT v::text AS v FROM kept')).toEqual([{ v: '[1,0.5]' }]);
    expect(await ask(server.url, 'SHOW server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
    const stays = new Client({ connectionString: server.url });
    stays.on('error', () => undefined);
    await stays.connect();
    await server.kill('SIGTERM');
    await stays.end();
  } finally {
    await server.stop();
  }
  expect(existsSync(server.dataDir)).toBe(false);
  expect(await segments()).toEqual(before);
}, 180_000);
