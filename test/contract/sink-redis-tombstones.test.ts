/** Tombstones in Redis: two workers on one collection, keys of another type, a Redis that is full. */
import { expect, it } from 'vitest';
import { useRedis } from '../support/stack.ts';
import { openRedisSink, plainClient } from './redis-sink-client.ts';
import { expectLogHolds } from './sink-rivals.ts';
import { deletionOf, rowOf } from './sink-rows.ts';

const redis = useRedis({ args: ['--maxmemory-policy', 'noeviction'] });

const STORED = { kind: 'stored' };
const SUPERSEDED = { kind: 'superseded' };

it('a worker that was frozen cannot bring back what another one has deleted since', async () => {
  const options = { url: redis().url, keyPrefix: 'zombie:' };
  const [zombie, worker] = [await openRedisSink(options), await openRedisSink(options)];
  await zombie.write([rowOf('a', { offset: 5n }), rowOf('d#0', { documentId: 'd', offset: 6n })]);
  expect(await worker.remove([deletionOf('chunk', 'a', 10n), deletionOf('document', 'd', 11n)])).toEqual([
    STORED,
    STORED,
  ]);
  const late = [
    rowOf('a', { offset: 5n }),
    rowOf('a', { offset: 9n, version: 7 }),
    rowOf('d#0', { documentId: 'd', offset: 6n }),
    rowOf('d#1', { documentId: 'd', offset: 7n }),
  ];
  expect(await zombie.write(late)).toEqual([SUPERSEDED, SUPERSEDED, SUPERSEDED, SUPERSEDED]);
  expect(await worker.count()).toBe(0);
  await worker.write([rowOf('a', { offset: 12n, text: 'anew' })]);
  expect(await zombie.remove([deletionOf('chunk', 'a', 10n)])).toEqual([SUPERSEDED]);
  expect(await zombie.write(late.slice(0, 2))).toEqual([SUPERSEDED, SUPERSEDED]);
  expect((await worker.fetch(['a']))[0]?.text).toBe('anew');
});

it('two workers that write and delete the same chunks at once end as the log says', async () => {
  const options = { url: redis().url, keyPrefix: 'both:' };
  await expectLogHolds([await openRedisSink(options), await openRedisSink(options)]);
});

it('each marker expires by itself, and no key is left behind without an expiry', async () => {
  const client = plainClient(redis().url);
  const sink = await openRedisSink({ url: redis().url, keyPrefix: 'ttl:', tombstoneRetentionMs: 60_000 });
  await sink.write([rowOf('a', { documentId: 'd', offset: 1n })]);
  await sink.remove([deletionOf('document', 'd', 10n), deletionOf('chunk', 'b', 11n, 4)]);
  const keys = (await client.keys('ttl:*')).toSorted();
  expect(keys).toEqual(['ttl:meta', 'ttl:tombstone:chunk:b', 'ttl:tombstone:document:d']);
  for (const key of keys.slice(1)) {
    const left = await client.pttl(key);
    expect(left > 0 && left <= 60_000).toBe(true);
  }
  expect(await client.hget('ttl:tombstone:chunk:b', '4:rag.ingestion.chunks')).toBe('11');
});

it('a key of another type refuses its own row or deletion, before anything is changed', async () => {
  const client = plainClient(redis().url);
  const sink = await openRedisSink({ url: redis().url, keyPrefix: 'type:' });
  await sink.write(['a', 'b', 'd#0', 'd#1'].map((id) => rowOf(id, { documentId: id.slice(0, 1), offset: 1n })));
  await client.set('type:tombstone:chunk:a', 'not a hash');
  await client.del('type:chunk:d#1');
  await client.set('type:chunk:d#1', 'not a hash');
  const kinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map(({ kind }) => kind);
  const removed = await sink.remove([
    deletionOf('chunk', 'a', 9n),
    deletionOf('document', 'd', 9n),
    deletionOf('chunk', 'b', 9n),
  ]);
  expect(kinds(removed)).toEqual(['refused', 'refused', 'stored']);
  expect(kinds(await sink.write([rowOf('a', { offset: 10n }), rowOf('e', { offset: 10n })]))).toEqual([
    'refused',
    'stored',
  ]);
  expect((await sink.fetch(['a', 'd#0'])).map((row) => row.source.offset)).toEqual([1n, 1n]);
  expect((await client.smembers('type:doc:d')).toSorted()).toEqual(['d#0', 'd#1']);
});

it('a Redis that is full still deletes, and keeps a deletion waiting that frees nothing', async () => {
  const client = plainClient(redis().url);
  const sink = await openRedisSink({ url: redis().url, keyPrefix: 'full:' });
  await sink.write([rowOf('a', { documentId: 'd', offset: 1n }), rowOf('b', { documentId: 'd', offset: 2n })]);
  await client.config('SET', 'maxmemory', '1');
  try {
    expect(await sink.remove([deletionOf('chunk', 'a', 9n)])).toEqual([STORED]);
    expect(await sink.remove([deletionOf('document', 'd', 10n)])).toEqual([STORED]);
    await expect(sink.remove([deletionOf('chunk', 'nobody', 11n)])).rejects.toMatchObject({ code: 'SINK_FULL' });
  } finally {
    await client.config('SET', 'maxmemory', '0');
  }
  expect(await sink.remove([deletionOf('chunk', 'nobody', 11n)])).toEqual([STORED]);
  expect(await sink.write(['a', 'b', 'nobody'].map((id) => rowOf(id, { documentId: 'd', offset: 8n })))).toEqual([
    ...[SUPERSEDED, SUPERSEDED, SUPERSEDED],
  ]);
});
