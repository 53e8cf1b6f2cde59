/** Addresses, passwords, rights and TLS of the pgvector sink against a real PostgreSQL; nothing secret in any message (F03, M09). */
import { describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/stack/free-port.ts';
import { ServingError } from '../../src/errors.ts';
import { usePostgres } from '../support/stack.ts';
import { createPgVectorSink, openPgVectorSink, runSql } from './pgvector-sink-client.ts';
import { recordingLog, spell } from './redis-sink-client.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const SENTINEL = 'pw-SENTINEL';

describe('with passwords and rights', () => {
  const postgres = usePostgres({
    access: ['host all postgres 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256'],
  });
  const addressOf = () => postgres().url.replace('postgres://postgres@', '');

  it('a password full of special characters works percent-encoded, with white space around the URL (F03)', async () => {
    await runSql(
      postgres().url,
      'CREATE EXTENSION IF NOT EXISTS vector',
      `CREATE ROLE special SUPERUSER LOGIN PASSWORD 'p@ss:w/ord#1+%'`,
    );
    const url = ` postgres://special:p%40ss%3Aw%2Ford%231%2B%25@${addressOf()}\n`;
    const sink = await openPgVectorSink({ url, table: 'f03' });
    await sink.write([rowOf('a')]);
    expect(await runSql(postgres().url, 'SELECT chunk_id FROM f03')).toEqual([{ chunk_id: 'a' }]);
  });

  it('a wrong password is fatal at once, and shows nowhere (M09)', async () => {
    await runSql(postgres().url, `CREATE ROLE known LOGIN PASSWORD 'right'`);
    const log = recordingLog();
    const sink = await createPgVectorSink({ url: `postgres://known:${SENTINEL}@${addressOf()}` }, log);
    const error = await sink.open(contractOf()).catch((cause: unknown) => cause);
    expect(error).toMatchObject({
      ...{ code: 'SINK_ACCESS_DENIED', failureClass: 'fatal' },
      message: expect.stringMatching(/28P01.*RAG_SERVING_PGVECTOR_URL/),
    });
    expect(`${spell(error)}${log.lines.join('\n')}`).not.toContain(SENTINEL);
  });

  it('no password where one is needed is fatal and names the setting', async () => {
    const sink = await createPgVectorSink({ url: `postgres://known@${addressOf()}` });
    await expect(sink.open(contractOf())).rejects.toMatchObject({
      code: 'SINK_ACCESS_DENIED',
      message: expect.stringMatching(/wants a password.*RAG_SERVING_PGVECTOR_URL/),
    });
  });

  it('a database that is not there is told by the setting', async () => {
    const sink = await createPgVectorSink({ url: `${postgres().url.replace(/\/postgres$/, '')}/nowhere` });
    await expect(sink.open(contractOf())).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/3D000.*RAG_SERVING_PGVECTOR_URL/),
    });
  });

  it('a user who may create nothing is told the SQL, which works, and needs no more than it grants', async () => {
    await runSql(postgres().url, 'CREATE EXTENSION IF NOT EXISTS vector', `CREATE ROLE poor LOGIN PASSWORD 'poor'`);
    const options = { url: `postgres://poor:poor@${addressOf()}`, table: 'by_owner' };
    const refused = await createPgVectorSink(options);
    const error = (await refused.open(contractOf()).catch((cause: unknown) => cause)) as ServingError;
    expect(error.code).toBe('SINK_ACCESS_DENIED');
    const sql = /may run: (.*)$/s.exec(error.message)?.[1] ?? '';
    await runSql(postgres().url, sql.replaceAll('<user>', 'poor'));
    const sink = await openPgVectorSink(options);
    expect(await sink.write([rowOf('a')])).toEqual([{ kind: 'stored' }]);
    await sink.remove([{ scope: 'chunk', id: 'a', source: { ...rowOf('a').source, offset: 9n } }]);
    expect(await sink.count()).toBe(0);
  });

  it('a table that may be read only is told at start, with the SQL', async () => {
    await openPgVectorSink({ url: postgres().url, table: 'look_only' });
    await runSql(
      postgres().url,
      `CREATE ROLE looker LOGIN PASSWORD 'looker'`,
      'GRANT SELECT ON look_only, look_only_tombstones, rag_serving_collections TO looker',
    );
    const sink = await createPgVectorSink({ url: `postgres://looker:looker@${addressOf()}`, table: 'look_only' });
    await expect(sink.open(contractOf())).rejects.toMatchObject({
      code: 'SINK_ACCESS_DENIED',
      message: expect.stringMatching(/GRANT SELECT, INSERT, UPDATE, DELETE ON "public"."look_only"/),
    });
  });

  it('a database without pgvector is told to a user who may not bring it in, and gets it from one who may', async () => {
    await runSql(postgres().url, `CREATE ROLE plain LOGIN PASSWORD 'plain'`, 'CREATE DATABASE bare');
    const bare = addressOf().replace(/postgres$/, 'bare');
    const sink = await createPgVectorSink({ url: `postgres://plain:plain@${bare}` });
    await expect(sink.open(contractOf())).rejects.toMatchObject({
      code: 'SINK_ACCESS_DENIED',
      message: expect.stringContaining('CREATE EXTENSION vector;'),
    });
    await openPgVectorSink({ url: `postgres://postgres@${bare}` });
  });

  it('pgvector in a schema of its own, off the search path, and the table in another', async () => {
    const database = addressOf().replace(/postgres$/, 'apart');
    await runSql(postgres().url, 'CREATE DATABASE apart');
    const url = `postgres://postgres@${database}`;
    await runSql(url, 'CREATE SCHEMA extensions', 'CREATE SCHEMA rag', 'CREATE EXTENSION vector SCHEMA extensions');
    for (const element of ['halfvec', 'vector'] as const) {
      const sink = await openPgVectorSink({ url, table: `rag.chunks-${element}`, element });
      const again = await openPgVectorSink({ url, table: `rag.chunks-${element}`, element });
      await again.write([rowOf('a')]);
      expect((await sink.search(Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0), 1))[0]?.score).toBeCloseTo(1);
    }
  });

  it('a database of another encoding, a table of somebody else, and vectors of another type are refused by name', async () => {
    await runSql(postgres().url, `CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'`);
    const ascii = await createPgVectorSink({ url: `postgres://postgres@${addressOf().replace(/postgres$/, 'ascii')}` });
    await expect(ascii.open(contractOf())).rejects.toMatchObject({ message: expect.stringMatching(/SQL_ASCII.*UTF8/) });

    await runSql(postgres().url, 'CREATE TABLE foreign_one (id int PRIMARY KEY)');
    const foreign = await createPgVectorSink({ url: postgres().url, table: 'foreign_one' });
    await expect(foreign.open(contractOf())).rejects.toMatchObject({
      code: 'SINK_SCHEMA_MISMATCH',
      message: expect.stringMatching(/chunk_id is missing.*id must have a value.*RAG_SERVING_PGVECTOR_TABLE/),
    });

    await openPgVectorSink({ url: postgres().url, table: 'typed' });
    await expect(openPgVectorSink({ url: postgres().url, table: 'typed', element: 'vector' })).rejects.toMatchObject({
      code: 'SINK_SCHEMA_MISMATCH',
      message: expect.stringMatching(/halfvec.*RAG_SERVING_PGVECTOR_TYPE=halfvec/),
    });
    await runSql(postgres().url, 'ALTER TABLE typed ALTER vector TYPE halfvec(9)').catch(() => undefined);
    await expect(openPgVectorSink({ url: postgres().url, table: 'typed' })).rejects.toMatchObject({
      message: expect.stringMatching(/vector is .*halfvec\(9\) instead of halfvec\(8\)/),
    });
  });

  it('more dims than pgvector holds are refused before anything is made', async () => {
    const sink = await createPgVectorSink({ url: postgres().url, table: 'wide' });
    await expect(sink.open(contractOf('FP16', { dims: 16_001 }))).rejects.toMatchObject({
      code: 'SINK_SCHEMA_MISMATCH',
      message: expect.stringMatching(/16001 dims.*16000/),
    });
  });
});

it('TLS towards nobody, and nobody there at all: open ends, and the password shows nowhere (M09)', async () => {
  for (const sslmode of ['disable', 'require']) {
    const log = recordingLog();
    const url = `postgres://rag:${SENTINEL}@127.0.0.1:${await freePort()}/db?sslmode=${sslmode}`;
    const sink = await createPgVectorSink({ url }, log);
    const error = await sink.open(contractOf()).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ServingError);
    expect(error).toMatchObject({ code: 'SINK_UNAVAILABLE', message: expect.stringContaining('ECONNREFUSED') });
    expect(`${spell(error)}${log.lines.join('\n')}`).not.toContain(SENTINEL);
  }
});
