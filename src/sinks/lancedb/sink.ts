/**
 * Sink on LanceDB: a table on this machine's disk or in an object store, no server.
 *
 * One process writes a table (table-writer.ts tells why and notices a second one); any number may read it.
 */
import { resolve } from 'node:path';
import type { Connection, Table } from '@lancedb/lancedb';
import type { Schema } from 'apache-arrow';
import type { Clock } from '../../clock.ts';
import { maskUrlCredentials } from '../../config/url-masking.ts';
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import {
  type CollectionName,
  contractMismatch,
  openForReading,
  type ReadContract,
  readContract,
} from '../contract-check.ts';
import { screenRows } from '../row-check.ts';
import { checkQuery } from '../similarity.ts';
import {
  type CollectionDescription,
  type RowOutcome,
  type ScanPage,
  type SearchHit,
  type SearchScope,
  type Sink,
  type SinkRow,
  type StoredRow,
  scopeOf,
} from '../sink.ts';
import { translateLanceDbError } from './errors.ts';
import { isReadableFolder, prepareFolder } from './folder.ts';
import { connect, loadLanceDb } from './library.ts';
import { isLocal, type LanceDbSinkOptions, type ResolvedLanceDbOptions, resolveLanceDbOptions } from './options.ts';
import { arrowToHits, arrowToRows, HIT_COLUMNS } from './rows.ts';
import { IdWindow } from './scan.ts';
import { KEY_COLUMN, missingColumns, storedContract, tableSchema } from './schema.ts';
import { isIn, slices } from './sql.ts';
import { IDS_PER_FILTER, TableWriter } from './table-writer.ts';
import { ensureKeyIndex, openIfThere, openOrCreate, searchIndex } from './tables.ts';
import { TombstoneTable } from './tombstone-table.ts';
import { readIndex, searchedBy } from './vector-index.ts';

type Readable = {
  readonly connection: Connection;
  readonly table: Table;
  readonly contract: ReadContract;
};

type Opened = Readable & {
  readonly tombstones: TombstoneTable;
  readonly writer: TableWriter;
  readonly contract: VectorContract;
};

export class LanceDbSink implements Sink {
  readonly name = 'lancedb';
  readonly #options: ResolvedLanceDbOptions;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #where: string;
  readonly #ids = new IdWindow();
  /** Without a writer when it was opened to be looked at. */
  #opened: Opened | Readable | undefined;
  #closed = false;

  constructor(options: LanceDbSinkOptions, log: Log, clock: Clock) {
    this.#options = resolveLanceDbOptions(options);
    this.#log = log;
    this.#clock = clock;
    this.#where = isLocal(this.#options.uri) ? resolve(this.#options.uri) : maskUrlCredentials(this.#options.uri);
  }

  async open(contract: VectorContract, signal?: AbortSignal): Promise<void> {
    this.#checkNew(signal);
    const { lancedb, arrow } = loadLanceDb({ buildsIndex: this.#options.index !== 'none' });
    let connection: Connection | undefined;
    try {
      if (isLocal(this.#options.uri)) await prepareFolder(this.#where);
      connection = await connect(lancedb, this.#options);
      const schema = tableSchema(arrow, contract);
      const table = await openOrCreate(connection, this.#options.table, schema);
      this.#checkTable(await table.schema(), schema, contract);
      await ensureKeyIndex(lancedb, table);
      const tombstones = await TombstoneTable.open(
        {
          ...{ connection, arrow, where: this.#where, chunkTable: this.#options.table },
          retentionMs: this.#options.tombstoneRetentionMs,
        },
        this.#clock.wallMs(),
      );
      const writer = await TableWriter.start({
        table,
        tombstones,
        lancedb,
        arrow,
        schema,
        contract,
        options: this.#options,
        where: this.#where,
        log: this.#log,
        clock: this.#clock,
      });
      this.#opened = { connection, table, tombstones, writer, contract };
    } catch (error) {
      connection?.close();
      throw translateLanceDbError(error, 'opening LanceDB', this.#where);
    }
  }

  async inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined> {
    this.#checkNew(signal);
    const what = 'reading LanceDB';
    let connection: Connection | undefined;
    try {
      // LanceDB would make the folder.
      if (isLocal(this.#options.uri) && !(await isReadableFolder(this.#where))) return undefined;
      const { lancedb, arrow } = loadLanceDb();
      connection = await connect(lancedb, this.#options);
      const table = await bounded(
        openIfThere(connection, this.#options.table),
        this.#options.writeTimeoutMs,
        what,
        signal,
      );
      if (table === undefined) {
        connection.close();
        return undefined;
      }
      const schema = await table.schema();
      const stored = storedContract(schema);
      const contract = stored && readContract(stored);
      if (contract === undefined) throw this.#notOurs([]);
      const missing = missingColumns(tableSchema(arrow, { ...contract, modelName: '', maxBatch: 1 }), schema);
      if (missing.length > 0) throw this.#notOurs(missing);
      const facts = { rows: await table.countRows(), index: await searchIndex(table) };
      this.#opened = { connection, table, contract };
      return { ...this.#name(), ...contract, ...facts };
    } catch (error) {
      connection?.close();
      throw translateLanceDbError(error, what, this.#where);
    }
  }

  async write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { writer, contract } = this.#requireWriter();
    throwIfAborted(signal, 'LanceDB write');
    const screened = screenRows(rows, contract);
    if (screened.accepted.length === 0) return screened.complete([]);
    const outcomes = await bounded(
      writer.write(screened.accepted),
      this.#options.writeTimeoutMs,
      'LanceDB write',
      signal,
    );
    return screened.complete(outcomes);
  }

  async remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { writer } = this.#requireWriter();
    throwIfAborted(signal, 'LanceDB deletion');
    if (deletions.length === 0) return [];
    return bounded(writer.remove(deletions), this.#options.writeTimeoutMs, 'LanceDB deletion', signal);
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#read('ping', ({ table }) => table.version(), signal);
  }

  count(signal?: AbortSignal): Promise<number> {
    return this.#read('count', ({ table }) => table.countRows(), signal);
  }

  search(vector: Float32Array, wanted: number | SearchScope, signal?: AbortSignal): Promise<readonly SearchHit[]> {
    return this.#read(
      'search',
      async (opened) => {
        const { table, contract } = opened;
        const { limit, tenantId } = scopeOf(wanted);
        checkQuery(vector, limit, contract);
        const { index, rows } = hasWriter(opened) ? opened.writer.searched : await readIndex(table);
        const all = searchedBy(table.vectorSearch(vector).column('vector').distanceType('cosine'), index, rows);
        const query = tenantId === undefined ? all : all.where(isIn('tenant_id', [tenantId]));
        return arrowToHits(await query.limit(limit).select(HIT_COLUMNS).toArrow());
      },
      signal,
    );
  }

  fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    return this.#read('fetch', ({ table }) => rowsOf(table, chunkIds), signal);
  }

  /** In order of the ids. Each window of ids costs a look at all of them (scan.ts). */
  scan(after: string | undefined, limit: number, signal?: AbortSignal): Promise<ScanPage> {
    return this.#read(
      'scan',
      async ({ table }) => {
        const ids = await this.#ids.after(table, after, limit);
        return { rows: await rowsOf(table, ids), next: ids.length === limit ? ids.at(-1) : undefined };
      },
      signal,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    if (hasWriter(opened)) {
      try {
        await bounded(opened.writer.finish(), this.#options.closeTimeoutMs, 'closing LanceDB');
      } catch (error) {
        this.#log.warn('LanceDB closed with work under way', { err: error });
      }
      opened.tombstones.close();
    }
    opened.table.close();
    opened.connection.close();
  }

  async #read<T>(what: string, query: (opened: Readable) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const opened = this.#require();
    throwIfAborted(signal, `LanceDB ${what}`);
    try {
      return await bounded(query(opened), this.#options.writeTimeoutMs, `LanceDB ${what}`, signal);
    } catch (error) {
      throw translateLanceDbError(error, `LanceDB ${what}`, this.#where);
    }
  }

  #requireWriter(): Opened {
    const opened = this.#require();
    if (hasWriter(opened)) return opened;
    throw openForReading('LanceDB');
  }

  #checkNew(signal: AbortSignal | undefined): void {
    throwIfAborted(signal, 'opening LanceDB');
    if (!this.#closed && !this.#opened) return;
    throw new ServingError('ARGUMENT_INVALID', `the LanceDB sink is ${this.#closed ? 'closed' : 'open already'}`);
  }

  #require(): Opened | Readable {
    if (this.#opened !== undefined) return this.#opened;
    throw new ServingError('SINK_UNAVAILABLE', `the LanceDB sink is ${this.#closed ? 'closed' : 'not open'}`);
  }

  #checkTable(actual: Schema, expected: Schema, contract: VectorContract) {
    const stored = storedContract(actual);
    const missing = missingColumns(expected, actual);
    if (stored === undefined || missing.length > 0) throw this.#notOurs(missing);
    const mismatch = contractMismatch(stored, contract, this.#name(), this.#options.allowMixedFingerprints);
    if (mismatch !== undefined) throw mismatch;
  }

  #name(): CollectionName {
    const collection = `LanceDB table "${this.#options.table}" at ${this.#where}`;
    return { collection, setting: 'RAG_SERVING_LANCEDB_TABLE' };
  }

  #notOurs(missing: readonly string[]): ServingError {
    const { collection, setting } = this.#name();
    const columns = missing.length > 0 ? ` (columns missing: ${missing.join(', ')})` : '';
    return new ServingError(
      'SINK_SCHEMA_MISMATCH',
      `${collection} was not made by rag-serving${columns}: name another one in ${setting}`,
    );
  }
}

async function rowsOf(table: Table, chunkIds: readonly string[]): Promise<StoredRow[]> {
  const rows = new Map<string, StoredRow>();
  for (const ids of slices(chunkIds, IDS_PER_FILTER)) {
    for (const row of arrowToRows(await table.query().where(isIn(KEY_COLUMN, ids)).toArrow()))
      rows.set(row.chunkId, row);
  }
  return chunkIds.flatMap((id) => rows.get(id) ?? []);
}

function hasWriter(opened: Opened | Readable): opened is Opened {
  return 'writer' in opened;
}
