/** What the Redis sink does when a real Redis stops, freezes, fills up or refuses single keys. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../support/stack.ts';
import { openRedisSink, plainClient, recordingLog } from './redis-sink-client.ts';
import { batch, expectWritesSurviveKill, OUTAGE } from './sink-outage.ts';
import { rowOf } from './sink-rows.ts';

describe('Redis that goes and comes back', () => {
  const redis = useRedis({ appendonly: true });

  it('killed while writing: writes reject as outage, go on by themselves afterwards, and lose no acknowledged row', async () => {
    await expectWritesSurviveKill(await openRedisSink({ url: redis().url, keyPrefix: 'killed:' }), redis());
  });

  it('10,000 chunks while it is away reject at once and pile up nowhere (S04)', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'away:' });
    await redis().kill('SIGKILL');
    await expect(sink.ping()).rejects.toMatchObject(OUTAGE);
    const before = process.memoryUsage().heapUsed;
    const startedAt = performance.now();
    for (let first = 0; first < 10_000; first += 50)
      await expect(sink.write(batch(first))).rejects.toMatchObject(OUTAGE);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 2 ** 20);
    const closedAt = performance.now();
    await sink.close();
    expect(performance.now() - closedAt).toBeLessThan(1_000);
    await redis().restart();
  });

  it('frozen: a write without an answer is an outage within its limit, and the retry stores each row once', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'frozen:' });
    await sink.write(batch(0));
    await redis().kill('SIGSTOP');
    const startedAt = performance.now();
    await expect(sink.write(batch(50))).rejects.toMatchObject(OUTAGE);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await redis().kill('SIGCONT');
    await expect
      .poll(
        () =>
          sink.write(batch(50)).then(
            (o) => o.length,
            () => 0,
          ),
        { timeout: 10_000 },
      )
      .toBe(50);
    expect(await sink.count()).toBe(100);
  });

  it('killed with a write under way: the write rejects then, not at its own limit', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'flight:', commandTimeoutMs: 30_000 });
    await sink.write(batch(0));
    await redis().kill('SIGSTOP');
    const write = sink.write(batch(50)).catch((error: unknown) => error);
    await sleep(50);
    const startedAt = performance.now();
    await redis().kill('SIGKILL');
    expect(await write).toMatchObject(OUTAGE);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await redis().restart();
  });

  it('a caller that gives up is answered at once while Redis is frozen', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'abort:' });
    await redis().kill('SIGSTOP');
    try {
      const startedAt = performance.now();
      await expect(sink.write(batch(0), AbortSignal.timeout(100))).rejects.toMatchObject(OUTAGE);
      expect(performance.now() - startedAt).toBeLessThan(800);
    } finally {
      await redis().kill('SIGCONT');
    }
  });

  it('scripts flushed: they are loaded again and no row is lost', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'flushed:' });
    await plainClient(redis().url).script('FLUSH');
    expect((await sink.write(batch(0))).every(({ kind }) => kind === 'stored')).toBe(true);
    expect(await sink.count()).toBe(50);
  });

  it('a read-only replica is an outage that ends when it is a primary again', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'replica:' });
    const client = plainClient(redis().url);
    await client.replicaof('127.0.0.1', 1);
    await expect(sink.write(batch(0))).rejects.toMatchObject({
      failureClass: 'outage',
      message: /READONLY|MASTERDOWN/,
    });
    await client.replicaof('NO', 'ONE');
    await sink.write(batch(0));
    expect(await sink.count()).toBe(50);
  });
});

describe('Redis that loses its data', () => {
  const redis = useRedis();

  it('is noticed and said, and the contract is claimed again before the next row', async () => {
    const log = recordingLog();
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'lost:' }, log);
    await sink.write(batch(0));
    await redis().kill('SIGKILL');
    await redis().restart();
    await expect
      .poll(
        () =>
          sink.write(batch(50)).then(
            (o) => o.length,
            () => 0,
          ),
        { timeout: 10_000 },
      )
      .toBe(50);
    expect(await sink.count()).toBe(50);
    expect(await plainClient(redis().url).hget('lost:meta', 'dims')).toBe('8');
    expect(log.lines.some((line) => line.includes('without its data'))).toBe(true);
  });
});

describe('Redis that refuses', () => {
  const redis = useRedis({ args: ['--maxmemory-policy', 'noeviction'] });

  it('one key of another type: that row alone is refused, its nine neighbours are stored once (K20)', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'type:' });
    const client = plainClient(redis().url);
    await client.set('type:chunk:c3', 'not a hash');
    const outcomes = await sink.write(batch(0, 10));
    expect(outcomes.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 10 }, (_, n) => (n === 3 ? 'refused' : 'stored')),
    );
    expect(outcomes[3]).toMatchObject({
      error: { code: 'SINK_ROW_REFUSED', message: expect.stringContaining('WRONGTYPE') },
    });
    expect(await sink.count()).toBe(9);
    await client.set('type:doc:odd', 'not a set');
    const [odd] = await sink.write([rowOf('in-odd', { documentId: 'odd' })]);
    expect(odd?.kind).toBe('refused');
    expect(await client.exists('type:chunk:in-odd')).toBe(0);
  });

  it('out of memory in mid-batch: the call is an outage, none counts as stored, the retry stores all 20 (S01)', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'oom:' });
    const client = plainClient(redis().url);
    const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
    await client.config('SET', 'maxmemory', String(used + 600_000));
    const rows = Array.from({ length: 20 }, (_, n) =>
      rowOf(`big${n}`, { offset: BigInt(n), text: 'x'.repeat(100_000) }),
    );
    const error = await sink.write(rows).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'SINK_FULL', failureClass: 'outage' });
    const { acknowledged, failed } = (error as { details: Record<string, number> }).details;
    expect(acknowledged).toBeGreaterThan(0);
    expect(failed).toBeGreaterThan(0);
    expect([acknowledged! + failed!, await sink.count()]).toEqual([20, acknowledged]);
    await client.config('SET', 'maxmemory', '0');
    expect((await sink.write(rows)).every(({ kind }) => kind === 'stored')).toBe(true);
    expect((await sink.fetch(rows.map((row) => row.chunkId))).length).toBe(20);
    expect(await sink.count()).toBe(20);
  });

  it('says so when it may evict what was stored', async () => {
    const client = plainClient(redis().url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const log = recordingLog();
    await openRedisSink({ url: redis().url, keyPrefix: 'evict:' }, log);
    expect(log.lines.join('\n')).toMatch(/evict.*allkeys-lru/);
  });

  it('20,000 rows in concurrent calls: each stored once', async () => {
    const sink = await openRedisSink({ url: redis().url, keyPrefix: 'many:', commandTimeoutMs: 20_000 });
    const calls = Array.from({ length: 80 }, (_, call) => batch(call * 250, 250));
    const outcomes = await Promise.all(calls.map((rows) => sink.write(rows)));
    expect(outcomes.flat().filter(({ kind }) => kind !== 'stored')).toEqual([]);
    expect(await sink.count()).toBe(20_000);
    expect((await plainClient(redis().url).keys('many:chunk:*')).length).toBe(20_000);
  });
});
