/** The sink contract on a real PostgreSQL with pgvector: columns of the model's own elements, and halves as whole floats. */
import { systemClock } from '../../src/clock.ts';
import type { PgVectorSinkOptions } from '../../src/sinks/pgvector/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { usePostgres } from '../support/stack.ts';
import { runSql } from './pgvector-sink-client.ts';
import { describeSinkContract } from './sink-contract.ts';
import { describeSinkScan } from './sink-contract-scan.ts';

const postgres = usePostgres();

function create(table: string, options: Partial<PgVectorSinkOptions> = {}): Promise<Sink> {
  return createSink({ name: 'pgvector', options: { url: postgres().url, table, ...options } }, silentLog, systemClock);
}

async function traces(table: string): Promise<readonly string[]> {
  const found = await runSql(
    postgres().url,
    `SELECT relname FROM pg_class WHERE relname LIKE '%${table}%' ORDER BY relname`,
  );
  return found.map(({ relname }) => String(relname));
}

describeSinkContract('pgvector', {
  durable: true,
  create,
  traces,
  plantForeign: async (table) => void (await runSql(postgres().url, `CREATE TABLE "${table}" (id int)`)),
});
describeSinkScan('pgvector', { durable: true, create });
describeSinkContract('pgvector with vector columns', {
  durable: true,
  traces,
  create: (table, options) => create(`floats-${table}`, { ...options, element: 'vector' }),
});
