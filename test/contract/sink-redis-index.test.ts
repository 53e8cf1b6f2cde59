/** The Redis sink on a real server with the module RediSearch: the whole contract, and what is promised of the index. */
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { RedisSinkOptions } from '../../src/sinks/redis/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { useRedis } from '../support/stack.ts';
import { createRedisSink, openRedisSink, plainClient, recordingLog } from './redis-sink-client.ts';
import { describeSinkContract } from './sink-contract.ts';
import { contractOf, DIMS, rowOf, vectorOf } from './sink-rows.ts';

const redis = useRedis({ search: true });
const query = Float32Array.from({ length: DIMS }, (_, i) => (i === 0 ? 1 : 0));

function create(collection: string, options: Partial<RedisSinkOptions> = {}): Promise<Sink> {
  const address = { url: redis().url, keyPrefix: `${collection}:` };
  return createSink({ name: 'redis', options: { ...address, ...options } }, silentLog, systemClock);
}

async function look(keyPrefix: string, url = redis().url): Promise<Sink> {
  const sink = await createRedisSink({ url, keyPrefix });
  onTestFinished(() => sink.close());
  return sink;
}

const traces = async (collection: string) => {
  const client = plainClient(redis().url);
  const indexes = (await client.call('FT._LIST')) as string[];
  return [...(await client.keys(`*${collection}:*`)), ...indexes.filter((name) => name.includes(collection))].sort();
};

describeSinkContract('redis with an HNSW index', { durable: true, create, traces });
describeSinkContract('redis with a flat FP32 index', {
  durable: true,
  traces,
  create: (collection, options) => create(`flat-${collection}`, { ...options, storedDtype: 'FP32', index: 'flat' }),
});

it('the index is made once, told, of the type of the blobs, and searched', async () => {
  for (const [dtype, type] of [
    ['FP16', 'FLOAT16'],
    ['FP32', 'FLOAT32'],
  ] as const) {
    const keyPrefix = `made-${dtype}:`;
    const log = recordingLog();
    const sink = await openRedisSink({ url: redis().url, keyPrefix, storedDtype: dtype }, log);
    await openRedisSink({ url: redis().url, keyPrefix, storedDtype: dtype }, log);
    expect(log.lines.filter((line) => line.includes('vector index')).map((line) => line.split(' {')[0])).toEqual([
      'redis vector index created',
      'redis vector index is there',
    ]);
    await sink.write([rowOf('a'), rowOf('b', { vector: vectorOf([0, 1]) })]);
    const client = plainClient(redis().url);
    expect(JSON.stringify(await client.call('FT.INFO', `${keyPrefix}index`))).toContain(type);
    // A row that only an index can overlook: a key of the pattern whose blob is of other dims is not in it.
    await client.hset(`${keyPrefix}chunk:odd`, { chunk_id: 'odd', vector: 'xxxx' });
    expect((await sink.search(query, 5)).map(({ chunkId }) => chunkId)).toEqual(['a', 'b']);
    expect(await (await look(keyPrefix)).inspect()).toMatchObject({
      index: `HNSW index "${keyPrefix}index" (${dtype}, cosine)`,
    });
  }
});

it('finds the rows of a tenant only, whatever stands in its name', async () => {
  for (const index of ['hnsw', 'off'] as const) {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: `tenants-${index}:`, index });
    const tenants = ['acme', 'ACME', 'a,b', 'a b-c|{x}', '日本', '@*'];
    await sink.write([rowOf('nobody'), ...tenants.map((tenantId) => rowOf(`of ${tenantId}`, { tenantId }))]);
    for (const tenantId of tenants) {
      const hits = await sink.search(query, { limit: 5, tenantId });
      expect(hits.map((hit) => [hit.chunkId, hit.tenantId])).toEqual([[`of ${tenantId}`, tenantId]]);
    }
    expect(await sink.search(query, { limit: 5, tenantId: 'a' })).toEqual([]);
  }
});

it('takes in the rows that were there before it', async () => {
  const before = await openRedisSink({ url: redis().url, keyPrefix: 'older:', index: 'off' });
  await before.write(Array.from({ length: 300 }, (_, n) => rowOf(`c${n}`, { vector: vectorOf([10, n]) })));
  const sink = await openRedisSink({ url: redis().url, keyPrefix: 'older:' });
  const best = async () => (await sink.search(query, 1))[0]?.chunkId;
  expect(await best()).toBe('c0');
  await expect.poll(async () => (await (await look('older:')).inspect())?.index).toMatch(/^HNSW index/);
  expect(await best()).toBe('c0');
});

it('one of other dims, type or metric is refused by name, with the command that drops it (S05)', async () => {
  const vector = (type: string, dims: number, metric: string) =>
    ['vector', 'VECTOR', 'FLAT', '6', 'TYPE', type, 'DIM', String(dims), 'DISTANCE_METRIC', metric] as const;
  const wrong = [
    ['dims', vector('FLOAT16', 4, 'COSINE'), /dims are 4 instead of 8/],
    ['type', vector('FLOAT32', DIMS, 'COSINE'), /type is FLOAT32 instead of FLOAT16/],
    ['metric', vector('FLOAT16', DIMS, 'L2'), /metric is L2 instead of COSINE/],
    ['field', ['title', 'TEXT'], /no vector field/],
  ] as const;
  const client = plainClient(redis().url);
  for (const [name, schema, says] of wrong) {
    const prefix = `wrong-${name}:`;
    const create = ['ON', 'HASH', 'PREFIX', '1', `${prefix}chunk:`, 'SCHEMA', ...schema];
    await client.call('FT.CREATE', `${prefix}index`, ...create);
    const sink = await createRedisSink({ url: redis().url, keyPrefix: prefix });
    const error = await sink.open(contractOf()).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'SINK_SCHEMA_MISMATCH', message: expect.stringMatching(says) });
    expect(error).toMatchObject({ message: expect.stringContaining(`FT.DROPINDEX ${prefix}index`) });
    await client.call('FT.DROPINDEX', `${prefix}index`);
    const mended = await openRedisSink({ url: redis().url, keyPrefix: prefix });
    expect(await mended.search(query, 1)).toEqual([]);
  }
});

it('another database, and a user who may not, get an exact scan and the reason', async () => {
  const log = recordingLog();
  const other = await openRedisSink({ url: `${redis().url}/1`, keyPrefix: 'other:' }, log);
  await other.write([rowOf('a')]);
  expect((await other.search(query, 1))[0]?.chunkId).toBe('a');
  expect(log.lines.join()).toMatch(/no vector index.*database 0/);

  await plainClient(redis().url).acl(
    'SETUSER',
    'plain',
    'on',
    '>plain',
    '~*',
    '&*',
    '+@all',
    '-ft.create',
    '-ft._list',
  );
  const url = redis().url.replace('redis://', 'redis://plain:plain@');
  const sink = await openRedisSink({ url, keyPrefix: 'plain:' });
  await sink.write([rowOf('a')]);
  expect((await sink.search(query, 1))[0]?.chunkId).toBe('a');
  expect((await (await look('plain:', url)).inspect())?.index).toMatch(/exact scan.*may not use/);
});
