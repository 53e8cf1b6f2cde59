/** The sink contract on a real Redis: blobs as the model gives them, and blobs as FP32 for an index of that type. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { RedisSinkOptions } from '../../src/sinks/redis/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { useRedis } from '../support/stack.ts';
import { openRedisSink, plainClient, recordingLog } from './redis-sink-client.ts';
import { describeSinkContract } from './sink-contract.ts';
import { describeSinkScan } from './sink-contract-scan.ts';
import { rowOf, vectorOf } from './sink-rows.ts';

const redis = useRedis();

function create(collection: string, options: Partial<RedisSinkOptions> = {}): Promise<Sink> {
  const address = { url: redis().url, keyPrefix: `${collection}:` };
  return createSink({ name: 'redis', options: { ...address, ...options } }, silentLog, systemClock);
}

const plain = () => plainClient(redis().url);
const traces = async (collection: string) => (await plain().keys(`*${collection}:*`)).sort();

describeSinkContract('redis', {
  durable: true,
  create,
  traces,
  plantForeign: async (collection) => void (await plain().set(`${collection}:meta`, 'not a hash')),
});
describeSinkScan('redis', { durable: true, create });
describeSinkContract('redis with FP32 blobs', {
  durable: true,
  traces,
  plantForeign: async (collection) => void (await plain().hset(`fp32-${collection}:meta`, 'theirs', '1')),
  create: (collection, options) => create(`fp32-${collection}`, { ...options, storedDtype: 'FP32' }),
});

it('the blob is what a vector index of its element type reads: little-endian, dims × element size (S05)', async () => {
  const client = plainClient(redis().url);
  const values = [1, -2, 0.5];
  for (const storedDtype of ['FP16', 'FP32'] as const) {
    const keyPrefix = `blob-${storedDtype}:`;
    const sink = await openRedisSink({ url: redis().url, keyPrefix, storedDtype });
    await sink.write([rowOf('a', { vector: vectorOf(values) })]);
    expect(await client.hgetBuffer(`${keyPrefix}chunk:a`, 'vector')).toEqual(
      Buffer.from(vectorOf(values, storedDtype)),
    );
    expect(await client.hmget(`${keyPrefix}chunk:a`, 'dims', 'dtype')).toEqual(['8', storedDtype]);
  }
});

it('a collection with blobs of another element type is refused (S05)', async () => {
  await openRedisSink({ url: redis().url, keyPrefix: 'blobs:' });
  await expect(openRedisSink({ url: redis().url, keyPrefix: 'blobs:', storedDtype: 'FP32' })).rejects.toMatchObject({
    code: 'SINK_SCHEMA_MISMATCH',
    message: expect.stringMatching(/FP16.*FP32/),
  });
});

it('a server without a search engine is told once at start, and is read row by row', async () => {
  const log = recordingLog();
  const sink = await openRedisSink({ url: redis().url, keyPrefix: 'plain:' }, log);
  await sink.write([rowOf('a')]);
  expect((await sink.search(Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0), 1))[0]?.chunkId).toBe('a');
  expect(log.lines.filter((line) => /no vector index.*Redis 8 has it/.test(line)).length).toBe(1);
});
