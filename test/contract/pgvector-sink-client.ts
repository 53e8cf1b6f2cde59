/** A pgvector sink for fault tests, with short limits, and a plain client beside it to break things with. */
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { PgVectorSinkOptions } from '../../src/sinks/pgvector/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { type Log, silentLog } from '../../src/telemetry/log.ts';
import { contractOf } from './sink-rows.ts';

export async function createPgVectorSink(options: PgVectorSinkOptions, log: Log = silentLog): Promise<Sink> {
  const limits = { connectTimeoutMs: 1_500, statementTimeoutMs: 1_500, closeTimeoutMs: 500 };
  const sink = await createSink({ name: 'pgvector', options: { ...limits, ...options } }, log, systemClock);
  onTestFinished(() => sink.close());
  return sink;
}

export async function openPgVectorSink(options: PgVectorSinkOptions, log: Log = silentLog): Promise<Sink> {
  const sink = await createPgVectorSink(options, log);
  await sink.open(contractOf());
  return sink;
}

/** Runs SQL as the superuser, each call on a connection of its own. */
export async function runSql(
  url: string,
  ...statements: readonly string[]
): Promise<readonly Record<string, unknown>[]> {
  const client = await plainSession(url);
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query<Record<string, unknown>>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

export async function plainSession(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** A trigger on the table before each row is written; `body` is PL/pgSQL, `NEW` the row. Real errors, at a moment of our choice. */
export async function addTrigger(url: string, table: string, body: string): Promise<() => Promise<unknown>> {
  await runSql(
    url,
    `CREATE FUNCTION "${table}_trouble"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$`,
    `CREATE TRIGGER trouble BEFORE INSERT OR UPDATE ON "${table}" FOR EACH ROW EXECUTE FUNCTION "${table}_trouble"()`,
  );
  return () => runSql(url, `DROP TRIGGER trouble ON "${table}"`);
}

/** With vectors of other dims than those of the contract tests, and limits for large batches. */
export async function openSized(url: string, table: string, dims: number): Promise<Sink> {
  const sink = await createPgVectorSink({ url, table, statementTimeoutMs: 120_000 });
  await sink.open(contractOf('FP16', { dims }));
  return sink;
}
