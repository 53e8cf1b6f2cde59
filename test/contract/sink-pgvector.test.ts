/** The sink contract on a real PostgreSQL with pgvector: columns of the model's own elements, and halves as whole floats. */
import { systemClock } from '../../src/clock.ts';
import type { PgVectorSinkOptions } from '../../src/sinks/pgvector/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { usePostgres } from '../support/stack.ts';
import { describeSinkContract } from './sink-contract.ts';

const postgres = usePostgres();

function create(table: string, options: Partial<PgVectorSinkOptions> = {}): Promise<Sink> {
  return createSink({ name: 'pgvector', options: { url: postgres().url, table, ...options } }, silentLog, systemClock);
}

describeSinkContract('pgvector', { durable: true, create });
describeSinkContract('pgvector with vector columns', {
  durable: true,
  create: (table, options) => create(`floats-${table}`, { ...options, element: 'vector' }),
});
