/** The sink contract on a fan-out to a real Redis and a real PostgreSQL, and what it does when one of them has trouble. */
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSink, type SingleSinkChoice } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { type Log, silentLog } from '../../src/telemetry/log.ts';
import { usePostgres, useRedis } from '../support/stack.ts';
import { addTrigger, openPgVectorSink, runSql } from './pgvector-sink-client.ts';
import { openRedisSink, plainClient, recordingLog } from './redis-sink-client.ts';
import { describeSinkContract, type SinkHarnessOptions } from './sink-contract.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const redis = useRedis({ appendonly: true });
const postgres = usePostgres();

function membersOf(
  collection: string,
  options: SinkHarnessOptions = {},
): readonly [SingleSinkChoice, SingleSinkChoice] {
  const limits = { connectTimeoutMs: 1_500, closeTimeoutMs: 500, ...options };
  return [
    { name: 'redis', options: { url: redis().url, keyPrefix: `${collection}:`, ...limits } },
    { name: 'pgvector', options: { url: postgres().url, table: collection, ...limits } },
  ];
}

describeSinkContract('fan-out to redis and pgvector', {
  durable: true,
  traces: async (collection) => (await plainClient(redis().url).keys(`${collection}:*`)).sort(),
  create: (collection, options) =>
    createSink({ name: 'fan-out', members: membersOf(collection, options) }, silentLog, systemClock),
});

async function openBoth(collection: string, log: Log = silentLog): Promise<Sink> {
  const sink = await createSink({ name: 'fan-out', members: membersOf(collection) }, log, systemClock);
  onTestFinished(() => sink.close());
  await sink.open(contractOf());
  return sink;
}

function batch(count: number) {
  return Array.from({ length: count }, (_, n) => rowOf(`c${n}`, { offset: BigInt(n), text: 'some text' }));
}

it('one store away: nothing counts as stored, the call names it, and the retry puts each row into both once', async () => {
  const log = recordingLog();
  const sink = await openBoth('one_away', log);
  expect(sink.name).toBe('redis+pgvector');
  await postgres().kill('SIGKILL');
  await expect(sink.write(batch(10))).rejects.toMatchObject({
    failureClass: 'outage',
    details: { failedSinks: 'pgvector' },
  });
  await expect(sink.ping()).rejects.toMatchObject({ failureClass: 'outage' });
  await postgres().restart();
  const write = () =>
    sink.write(batch(10)).then(
      ({ length }) => length,
      () => 0,
    );
  await expect.poll(write, { timeout: 10_000 }).toBe(10);
  const ids = batch(10).map(({ chunkId }) => chunkId);
  const members = [
    await openRedisSink({ url: redis().url, keyPrefix: 'one_away:' }),
    await openPgVectorSink({ url: postgres().url, table: 'one_away' }),
  ];
  for (const member of members) {
    expect(await member.count()).toBe(10);
    expect((await member.fetch(ids)).map(({ chunkId }) => chunkId)).toEqual(ids);
  }
  const told = log.lines.filter((line) => line.includes('stores'));
  expect(told.map((line) => /^(some|all) stores/.exec(line)?.[1])).toEqual(['some', 'all']);
});

it('both away: the error is an outage and names both', async () => {
  const sink = await openBoth('both_away');
  await Promise.all([redis().kill('SIGKILL'), postgres().kill('SIGKILL')]);
  await expect(sink.write(batch(2))).rejects.toMatchObject({
    failureClass: 'outage',
    details: { failedSinks: 'redis, pgvector' },
  });
  await sink.close();
  await Promise.all([redis().restart(), postgres().restart()]);
});

it('a row that one store refuses is refused, and its neighbours are in both', async () => {
  const sink = await openBoth('refusing');
  await runSql(postgres().url, `ALTER TABLE refusing ADD CONSTRAINT no_c3 CHECK (chunk_id <> 'c3')`);
  const outcomes = await sink.write(batch(6));
  expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'stored', 'stored', 'refused', 'stored', 'stored']);
  expect(outcomes[3]).toMatchObject({ error: { message: expect.stringContaining('no_c3') } });
});

it('a store that is newer keeps its row, and the row is superseded', async () => {
  const sink = await openBoth('newer');
  const alone = await openPgVectorSink({ url: postgres().url, table: 'newer' });
  await alone.write([rowOf('a', { offset: 9n })]);
  expect(await sink.write([rowOf('a', { offset: 5n }), rowOf('b')])).toEqual([
    { kind: 'superseded' },
    { kind: 'stored' },
  ]);
});

it('full is told as full, and fatal comes before an outage of the other', async () => {
  const sink = await openBoth('worst');
  const mend = await addTrigger(postgres().url, 'worst', `RAISE EXCEPTION 'x' USING ERRCODE = '53100';`);
  await expect(sink.write(batch(2))).rejects.toMatchObject({ code: 'SINK_FULL' });
  await mend();
  await runSql(postgres().url, 'DROP TABLE worst');
  await redis().kill('SIGKILL');
  await expect(sink.write(batch(2))).rejects.toMatchObject({ code: 'SINK_SCHEMA_MISMATCH', failureClass: 'fatal' });
  await redis().restart();
});

it('another fingerprint in one store only is refused by all', async () => {
  const other = await openPgVectorSink({ url: postgres().url, table: 'mixed' });
  await other.close();
  const sink = await createSink({ name: 'fan-out', members: membersOf('mixed') }, silentLog, systemClock);
  onTestFinished(() => sink.close());
  await expect(sink.open(contractOf('FP16', { fingerprint: 'fp-two' }))).rejects.toMatchObject({
    code: 'SINK_SCHEMA_MISMATCH',
    details: { failedSinks: 'pgvector' },
  });
  await expect(sink.write(batch(1))).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' });
});
