/** An old model and a new one, a store, and the `reembed` command as a person runs it, from dist/. */
import { Program } from '../../../scripts/stack/program.ts';
import { systemClock } from '../../../src/clock.ts';
import { createSink } from '../../../src/sinks/registry.ts';
import type { StoredRow } from '../../../src/sinks/sink.ts';
import { type CollectionChoice, withCollection } from '../../../src/sinks/store-admin.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { type CommandEnd, endOf } from '../dlq/dlq-world.ts';
import type { Env } from '../worker/harness.ts';

export type World = {
  /** Settings of the old worker. */
  readonly env: Env;
  readonly choice: CollectionChoice;
  readonly newModel: string;
};

export function startReembed(world: World, args: readonly string[], more: Env = {}): Program {
  const settings = {
    RAG_SERVING_WORKER_ID: 'reembed-test',
    RAG_SERVING_SERVER_HOST: '127.0.0.1',
    RAG_SERVING_COMMIT_INTERVAL_MS: '500',
    RAG_SERVING_SHM_MODE: 'off',
    // Whoever comes after a killed one waits for its session to end.
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
  };
  const env = { ...world.env, ...settings, RAG_SERVING_BATCH_INGEST_GRPC_URL: world.newModel, ...more };
  return new Program(['reembed', ...args], env);
}

export function reembed(world: World, args: readonly string[], more: Env = {}): Promise<CommandEnd> {
  return endOf(startReembed(world, args, more));
}

export async function rowsIn({ choice }: World, collection: string): Promise<Map<string, StoredRow>> {
  const sink = await createSink(withCollection(choice, collection), silentLog, systemClock);
  try {
    if ((await sink.inspect()) === undefined) return new Map();
    const rows = new Map<string, StoredRow>();
    let after: string | undefined;
    do {
      const page = (await sink.scan?.(after, 500)) ?? { rows: [], next: undefined };
      for (const row of page.rows) rows.set(row.chunkId, row);
      after = page.next;
    } while (after !== undefined);
    return rows;
  } finally {
    await sink.close();
  }
}

/** What both hold, apart from what the model makes of it. */
export function contentOf(rows: ReadonlyMap<string, StoredRow>): Map<string, unknown> {
  return new Map(
    [...rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { vector: _, fingerprint: __, embeddedAtMs: ___, ...rest }]) => [id, rest]),
  );
}
