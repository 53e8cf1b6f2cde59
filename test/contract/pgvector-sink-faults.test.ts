/** What the pgvector sink does when a real PostgreSQL stops, freezes, or has no connection left. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { usePostgres } from '../support/stack.ts';
import { createPgVectorSink, openPgVectorSink, plainSession, runSql } from './pgvector-sink-client.ts';
import { batch, expectWritesSurviveKill, OUTAGE } from './sink-outage.ts';
import { contractOf, rowOf } from './sink-rows.ts';

describe('PostgreSQL that goes and comes back', () => {
  const postgres = usePostgres();

  it('killed while writing: writes reject as outage, go on by themselves afterwards, and lose no acknowledged row', async () => {
    await expectWritesSurviveKill(await openPgVectorSink({ url: postgres().url, table: 'killed' }), postgres());
  });

  it('10,000 chunks while it is away reject at once and pile up nowhere (S04)', async () => {
    const sink = await openPgVectorSink({ url: postgres().url, table: 'away' });
    await postgres().kill('SIGKILL');
    await expect(sink.ping()).rejects.toMatchObject(OUTAGE);
    const before = process.memoryUsage().heapUsed;
    for (let first = 0; first < 10_000; first += 50)
      await expect(sink.write(batch(first))).rejects.toMatchObject(OUTAGE);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 2 ** 20);
    await sink.close();
    await postgres().restart();
  });

  it('frozen: a write without an answer is an outage, and the retry stores each row once', async () => {
    const sink = await openPgVectorSink({ url: postgres().url, table: 'frozen' });
    await sink.write(batch(0));
    await postgres().kill('SIGSTOP');
    await expect(sink.write(batch(50))).rejects.toMatchObject(OUTAGE);
    await postgres().kill('SIGCONT');
    const retry = () =>
      sink.write(batch(50)).then(
        ({ length }) => length,
        () => 0,
      );
    await expect.poll(retry, { timeout: 20_000 }).toBe(50);
    expect(await sink.count()).toBe(100);
  });

  it('frozen: a caller that gives up is answered at once, and close ends all the same', async () => {
    const sink = await openPgVectorSink({ url: postgres().url, table: 'given_up', statementTimeoutMs: 60_000 });
    await postgres().kill('SIGSTOP');
    try {
      await expect(sink.write(batch(0), AbortSignal.timeout(100))).rejects.toMatchObject(OUTAGE);
      await sink.close();
    } finally {
      await postgres().kill('SIGCONT');
    }
  });

  it('killed with a write under way: the write rejects then, not at its own limit', async () => {
    const sink = await openPgVectorSink({ url: postgres().url, table: 'flight', statementTimeoutMs: 600_000 });
    await sink.write(batch(0));
    await postgres().kill('SIGSTOP');
    const write = sink.write(batch(50)).catch((error: unknown) => error);
    await sleep(50);
    await postgres().kill('SIGKILL');
    expect(await write).toMatchObject(OUTAGE);
    await postgres().restart();
  });

  it('sessions ended by an administrator: the next calls have new ones', async () => {
    const sink = await openPgVectorSink({ url: postgres().url, table: 'ended' });
    await sink.write(batch(0));
    const end =
      "SELECT count(pg_terminate_backend(pid))::int AS ended FROM pg_stat_activity WHERE application_name = 'rag-serving-sink'";
    const [ended] = await runSql(postgres().url, end);
    expect(ended?.ended).toBeGreaterThan(0);
    const write = () =>
      sink.write(batch(50)).then(
        ({ length }) => length,
        () => 0,
      );
    await expect.poll(write).toBe(50);
    expect(await sink.count()).toBe(100);
  });

  it('read-only as a standby is: an outage that blames no row and ends when it takes writes again', async () => {
    const sink = await openPgVectorSink({ url: postgres().url, table: 'read_only' });
    const setReadOnly = (on: boolean) =>
      runSql(
        postgres().url,
        'SET default_transaction_read_only = off',
        `ALTER SYSTEM SET default_transaction_read_only = ${on}`,
        'SELECT pg_reload_conf()',
      );
    await setReadOnly(true);
    try {
      const write = () =>
        sink.write(batch(0)).then(
          () => undefined,
          (error: unknown) => error,
        );
      await expect.poll(write).toMatchObject({ ...OUTAGE, message: expect.stringContaining('25006') });
      await expect(sink.remove([{ scope: 'chunk', id: 'c1', source: rowOf('c1').source }])).rejects.toMatchObject(
        OUTAGE,
      );
    } finally {
      await setReadOnly(false);
    }
    const write = () =>
      sink.write(batch(0)).then(
        ({ length }) => length,
        () => 0,
      );
    await expect.poll(write).toBe(50);
  });
});

describe('PostgreSQL with few connections', () => {
  const postgres = usePostgres({ settings: { max_connections: '6', superuser_reserved_connections: '0' } });

  it('with none left: an outage that names the setting, and ends when there is one', async () => {
    await openPgVectorSink({ url: postgres().url, table: 'crowded' }).then((sink) => sink.close());
    const others = await Promise.all(
      Array.from({ length: 6 }, () => plainSession(postgres().url).catch(() => undefined)),
    );
    const sink = await createPgVectorSink({ url: postgres().url, table: 'crowded' });
    await expect(sink.open(contractOf())).rejects.toMatchObject({
      ...OUTAGE,
      message: expect.stringMatching(/53300.*RAG_SERVING_PGVECTOR_POOL_SIZE/),
    });
    await Promise.all(others.map((client) => client?.end()));
    await expect
      .poll(() =>
        sink.open(contractOf()).then(
          () => 'open',
          () => 'refused',
        ),
      )
      .toBe('open');
  });

  it('20,000 rows in 80 calls at once over two connections: each stored once', async () => {
    const options = { url: postgres().url, table: 'many', poolSize: 2, statementTimeoutMs: 60_000 };
    const sink = await openPgVectorSink(options);
    const calls = Array.from({ length: 80 }, (_, call) => batch(call * 250, 250));
    const outcomes = await Promise.all(calls.map((rows) => sink.write(rows)));
    expect(outcomes.flat().filter(({ kind }) => kind !== 'stored')).toEqual([]);
    expect(await sink.count()).toBe(20_000);
  });
});
