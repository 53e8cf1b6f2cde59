/** `inspect` where the store is away, closed to us, or no store at all: it rejects as `open` does, and makes nothing. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/stack/free-port.ts';
import { systemClock } from '../../src/clock.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { usePostgres, useRedis } from '../support/stack.ts';
import { createPgVectorSink, openPgVectorSink, runSql } from './pgvector-sink-client.ts';
import { createRedisSink, openRedisSink, plainClient } from './redis-sink-client.ts';

const AWAY = { code: 'SINK_UNAVAILABLE', failureClass: 'outage' };
const DENIED = { code: 'SINK_ACCESS_DENIED', failureClass: 'fatal' };

describe('redis', () => {
  const redis = useRedis();

  it('away, a wrong password, and a user who may not read', async () => {
    const nobody = await createRedisSink({ url: `redis://127.0.0.1:${await freePort()}` });
    await expect(nobody.inspect()).rejects.toMatchObject(AWAY);
    await openRedisSink({ url: redis().url });
    const client = plainClient(redis().url);
    await client.acl('SETUSER', 'looker', 'on', '>looker', '~*', '&*', '+@read', '+@connection', '+info', '-hmget');
    const address = redis().url.replace('redis://', '');
    for (const user of ['looker:wrong', 'looker:looker']) {
      const sink = await createRedisSink({ url: `redis://${user}@${address}` });
      await expect(sink.inspect()).rejects.toMatchObject(DENIED);
    }
  });

  it('a user who may only read is enough', async () => {
    await openRedisSink({ url: redis().url, keyPrefix: 'read-only:' });
    await plainClient(redis().url).acl('SETUSER', 'reader', 'on', '>reader', '%R~*', '+@read', '+@connection', '+info');
    const url = redis().url.replace('redis://', 'redis://reader:reader@');
    const sink = await createRedisSink({ url, keyPrefix: 'read-only:' });
    expect(await sink.inspect()).toMatchObject({ rows: 0 });
    expect(await sink.search(Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0), 1)).toEqual([]);
  });
});

describe('pgvector', () => {
  const postgres = usePostgres({
    access: ['host all postgres 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256'],
  });

  it('away, no rights, and a user who may only read', async () => {
    const nobody = await createPgVectorSink({ url: `postgres://u:p@127.0.0.1:${await freePort()}/db` });
    await expect(nobody.inspect()).rejects.toMatchObject(AWAY);
    await openPgVectorSink({ url: postgres().url, table: 'looked_at' });
    await runSql(postgres().url, `CREATE ROLE looker LOGIN PASSWORD 'looker'`);
    const address = postgres().url.replace('postgres://postgres@', '');
    const create = () => createPgVectorSink({ url: `postgres://looker:looker@${address}`, table: 'looked_at' });
    await expect((await create()).inspect()).rejects.toMatchObject(DENIED);
    await runSql(postgres().url, 'GRANT SELECT ON looked_at, rag_serving_collections TO looker');
    expect(await (await create()).inspect()).toMatchObject({ rows: 0, index: 'exact scan of all rows' });
  });

  it('a database without pgvector has no collection, and gets no extension', async () => {
    await runSql(postgres().url, 'CREATE DATABASE bare');
    const url = postgres().url.replace(/postgres$/, 'bare');
    expect(await (await createPgVectorSink({ url })).inspect()).toBeUndefined();
    expect(await runSql(url, `SELECT extname FROM pg_extension WHERE extname = 'vector'`)).toEqual([]);
  });
});

describe('lancedb', () => {
  async function create(uri: string): Promise<Sink> {
    const sink = await createSink({ name: 'lancedb', options: { uri, table: 'chunks' } }, silentLog, systemClock);
    onTestFinished(() => sink.close());
    return sink;
  }

  it('makes no folder, refuses a file, and tells a folder that it may not read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rag-inspect-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const absent = join(folder, 'absent', 'deep');
    expect(await (await create(absent)).inspect()).toBeUndefined();
    expect(existsSync(join(folder, 'absent'))).toBe(false);
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect((await create(file)).inspect()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect((await create(join(file, 'below'))).inspect()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    if (process.getuid?.() === 0) return;
    const locked = join(folder, 'locked');
    mkdirSync(locked);
    chmodSync(locked, 0o000);
    await expect((await create(locked)).inspect()).rejects.toMatchObject(DENIED);
  });
});
