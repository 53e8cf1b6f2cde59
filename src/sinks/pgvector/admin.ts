/**
 * Notes and dropping of collections in PostgreSQL. The table of notes is made with the first one.
 *
 * For readers that speak SQL a note that names a current collection also turns the view `<table>_current`, in the same
 * transaction. Surprising: a view cannot change the type of a column, and a model of other dims changes that of `vector`.
 * So the view is made anew, and who might read it before may read it afterwards.
 */
import type { JsonObject } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import type { Note, StoreAdmin } from '../store-admin.ts';
import { PgConnection, type Query } from './connection.ts';
import { translatePostgresError } from './errors.ts';
import { type PgNames, pgNames, quoted } from './names.ts';
import {
  type PgVectorSinkOptions,
  parseTableName,
  type ResolvedPgVectorOptions,
  resolvePgVectorOptions,
} from './options.ts';

export class PgVectorAdmin implements StoreAdmin {
  readonly #options: ResolvedPgVectorOptions;
  readonly #connection: PgConnection;

  constructor(options: PgVectorSinkOptions, log: Log) {
    this.#options = resolvePgVectorOptions(options);
    this.#connection = new PgConnection(this.#options, log);
  }

  readNote(collection: string, signal?: AbortSignal): Promise<Note | undefined> {
    const names = namesOf(collection);
    return this.#run('reading a note', () => this.#connection.session('none', undefined, noteReader(names)), signal);
  }

  writeNote(collection: string, value: JsonObject, revision: number, signal?: AbortSignal): Promise<boolean> {
    const names = namesOf(collection);
    const write = async (query: Query) => {
      await query(
        `CREATE TABLE IF NOT EXISTS ${notesOf(names)} (table_name text COLLATE "C" PRIMARY KEY, revision bigint NOT NULL, value jsonb NOT NULL)`,
      );
      const held = await noteReader(names)(query);
      if ((held?.revision ?? 0) !== revision) return false;
      await query(
        `INSERT INTO ${notesOf(names)} (table_name, revision, value) VALUES ($1, $2, $3) ` +
          'ON CONFLICT (table_name) DO UPDATE SET revision = excluded.revision, value = excluded.value',
        [names.plainTable, revision + 1, JSON.stringify(value)],
      );
      if (typeof value.current === 'string' && value.current !== held?.value.current) {
        await turnView(query, names, namesOf(value.current));
      }
      return true;
    };
    const lock = `rag-serving schema ${names.schema}`;
    return this.#run('writing a note', () => this.#connection.session('exclusive', lock, write), signal);
  }

  drop(collection: string, signal?: AbortSignal): Promise<void> {
    const names = namesOf(collection);
    const lock = `rag-serving schema ${names.schema}`;
    const work = async (query: Query) => {
      await query(`DROP TABLE IF EXISTS ${names.table}, ${names.tombstones}`);
      const [found] = await query('SELECT to_regclass($1) IS NOT NULL AS is_there', [names.collections]);
      if (found?.is_there === true) {
        await query(`DELETE FROM ${names.collections} WHERE table_name = $1`, [names.plainTable]);
      }
    };
    return this.#run('drop', () => this.#connection.session('exclusive', lock, work), signal);
  }

  close(): Promise<void> {
    return this.#connection.close(this.#options.closeTimeoutMs);
  }

  async #run<T>(what: string, work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    throwIfAborted(signal, `PostgreSQL ${what}`);
    const maxWaitMs = this.#options.connectTimeoutMs + this.#options.statementTimeoutMs * 2;
    try {
      return await bounded(work(), maxWaitMs, `PostgreSQL ${what}`, signal);
    } catch (error) {
      throw translatePostgresError(error, what, this.#connection.server);
    }
  }
}

function namesOf(table: string): PgNames {
  return pgNames(parseTableName(table));
}

function notesOf({ schema }: PgNames): string {
  return `${quoted(schema)}.rag_serving_notes`;
}

function noteReader(names: PgNames): (query: Query) => Promise<Note | undefined> {
  return async (query) => {
    const [found] = await query('SELECT to_regclass($1) IS NOT NULL AS is_there', [notesOf(names)]);
    if (found?.is_there !== true) return undefined;
    const [row] = await query(
      `SELECT value::text AS value, revision::text AS revision FROM ${notesOf(names)} WHERE table_name = $1`,
      [names.plainTable],
    );
    if (row === undefined) return undefined;
    return { value: JSON.parse(row.value as string) as JsonObject, revision: Number(row.revision) };
  };
}

async function turnView(query: Query, base: PgNames, target: PgNames): Promise<void> {
  const view = `${quoted(base.schema)}.${quoted(`${base.plainTable}_current`)}`;
  const readers = await query(
    'SELECT DISTINCT CASE WHEN grantee = 0 THEN NULL ELSE pg_get_userbyid(grantee) END AS reader ' +
      'FROM pg_class, aclexplode(relacl) WHERE oid = to_regclass($1) ' +
      "AND privilege_type = 'SELECT' AND grantee <> relowner",
    [view],
  );
  await query(`DROP VIEW IF EXISTS ${view}`);
  await query(`CREATE VIEW ${view} AS SELECT * FROM ${target.table}`);
  for (const { reader } of readers) {
    await query(`GRANT SELECT ON ${view} TO ${reader === null ? 'PUBLIC' : quoted(reader as string)}`);
  }
}
