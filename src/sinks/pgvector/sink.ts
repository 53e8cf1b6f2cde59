/**
 * Sink on PostgreSQL with pgvector: a table of chunks that is searched, joined and backed up like any other.
 *
 * The revision rule and the tombstones are judged inside the statement that writes (statements.ts), against the rows as
 * they are then, so any number of workers may write one table.
 */
import type { Clock } from '../../clock.ts';
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import { openForReading, type ReadContract } from '../contract-check.ts';
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
import { textArray, vectorValue } from './binary.ts';
import { collectionName, findCollection, type OpenedCollection, openCollection, SETTING } from './collection.ts';
import { PgConnection, type Statement } from './connection.ts';
import { translatePostgresError } from './errors.ts';
import { escapeText } from './escape.ts';
import { indexAdvice, indexSql } from './index-advice.ts';
import { type PgNames, pgNames } from './names.ts';
import { type PgVectorSinkOptions, type ResolvedPgVectorOptions, resolvePgVectorOptions } from './options.ts';
import { removeRows } from './remover.ts';
import { elementDtype, isFiniteVector, recode, rowToHit, rowToStored } from './rows.ts';
import type { ElementType } from './schema.ts';
import { type Statements, statementsOf } from './statements.ts';
import { writeRows } from './writer.ts';

type Collection = {
  readonly contract: ReadContract;
  /** Of a worker; undefined when it was opened to be looked at. */
  readonly model: VectorContract | undefined;
  readonly type: ElementType;
  readonly statements: Statements;
};

/** A wait for a connection, and statements that others were in the way of, take more than one statement may. */
const STATEMENTS_PER_WAIT = 2;

export class PgVectorSink implements Sink {
  readonly name = 'pgvector';
  readonly #options: ResolvedPgVectorOptions;
  readonly #names: PgNames;
  readonly #connection: PgConnection;
  readonly #log: Log;
  readonly #clock: Clock;
  #collection: Collection | undefined;
  #closed = false;

  constructor(options: PgVectorSinkOptions, log: Log, clock: Clock) {
    this.#options = resolvePgVectorOptions(options);
    this.#names = pgNames(this.#options);
    this.#log = log;
    this.#clock = clock;
    this.#connection = new PgConnection(this.#options, log);
  }

  async open(contract: VectorContract, signal?: AbortSignal): Promise<void> {
    this.#checkNew(signal);
    const opened = await this.#bounded('opening', openCollection(this.#parts(), contract), signal);
    const statements = statementsOf(this.#names, opened.type);
    this.#collection = { contract, model: contract, type: opened.type, statements };
    this.#tell(opened, contract);
  }

  async inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined> {
    this.#checkNew(signal);
    const found = await this.#bounded('reading', findCollection(this.#parts()), signal);
    if (found === undefined) return undefined;
    const { contract, type, vectorIndexes } = found;
    this.#collection = { contract, model: undefined, type, statements: statementsOf(this.#names, type) };
    try {
      const rows = await this.count(signal);
      const index = vectorIndexes.length === 0 ? 'exact scan of all rows' : `index: ${vectorIndexes.join(', ')}`;
      return { collection: collectionName(this.#connection, this.#names), setting: SETTING, ...contract, rows, index };
    } catch (error) {
      this.#collection = undefined;
      throw error;
    }
  }

  async write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { model, type, statements } = this.#requireModel();
    throwIfAborted(signal, 'PostgreSQL write');
    // Before any wait: from here on the caller's memory is its own again.
    const screened = screenRows(rows, model);
    const target = {
      ...{ connection: this.#connection, contract: model, type, write: statements.write },
      oldestMs: Math.trunc(this.#clock.wallMs()) - this.#options.tombstoneRetentionMs,
    };
    return screened.complete(await this.#bounded('write', writeRows(screened.accepted, target), signal));
  }

  async remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { statements } = this.#requireModel();
    throwIfAborted(signal, 'PostgreSQL deletion');
    if (deletions.length === 0) return [];
    const retentionMs = this.#options.tombstoneRetentionMs;
    const nowMs = Math.trunc(this.#clock.wallMs());
    const work = removeRows(deletions, { connection: this.#connection, statements, retentionMs }, nowMs);
    return this.#bounded('deletion', work, signal);
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#read('ping', () => ({ text: 'SELECT 1' }), signal);
  }

  async count(signal?: AbortSignal): Promise<number> {
    const [row] = await this.#read('count', ({ statements }) => ({ text: statements.count }), signal);
    return Number(row?.count);
  }

  async search(
    vector: Float32Array,
    wanted: number | SearchScope,
    signal?: AbortSignal,
  ): Promise<readonly SearchHit[]> {
    const { contract, type } = this.#require();
    const { limit, tenantId } = scopeOf(wanted);
    checkQuery(vector, limit, contract);
    const dtype = elementDtype(type.element);
    const query = recode(float32Bytes(vector), 'FP32', dtype);
    if (!isFiniteVector(query, dtype)) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `the query vector holds a value that is not finite as ${type.element}`,
      );
    }
    const values = [vectorValue(query, dtype), limit, tenantId === undefined ? null : escapeText(tenantId)];
    const rows = await this.#read('search', ({ statements }) => ({ text: statements.search, values }), signal);
    return rows.map(rowToHit);
  }

  async fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    const { contract, type } = this.#require();
    if (chunkIds.length === 0) return [];
    const values = [textArray(chunkIds.map(escapeText))];
    const rows = await this.#read('fetch', ({ statements }) => ({ text: statements.fetch, values }), signal);
    const byId = new Map(rows.map((row) => rowToStored(row, contract, type.element)).map((row) => [row.chunkId, row]));
    return chunkIds.flatMap((id) => byId.get(id) ?? []);
  }

  /** In order of the ids, by the primary key. */
  async scan(after: string | undefined, limit: number, signal?: AbortSignal): Promise<ScanPage> {
    const { contract, type } = this.#require();
    const values = [escapeText(after ?? ''), limit];
    const found = await this.#read('scan', ({ statements }) => ({ text: statements.scan, values }), signal);
    const rows = found.map((row) => rowToStored(row, contract, type.element));
    return { rows, next: rows.length === limit ? rows.at(-1)?.chunkId : undefined };
  }

  async close(): Promise<void> {
    const wasClosed = this.#closed;
    this.#closed = true;
    this.#collection = undefined;
    if (!wasClosed) await this.#connection.close(this.#options.closeTimeoutMs);
  }

  async #read(what: string, statement: (collection: Collection) => Statement, signal: AbortSignal | undefined) {
    const collection = this.#require();
    throwIfAborted(signal, `PostgreSQL ${what}`);
    return this.#bounded(what, this.#connection.transaction('none', statement(collection)), signal);
  }

  async #bounded<T>(what: string, work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const maxWaitMs = this.#options.connectTimeoutMs + this.#options.statementTimeoutMs * STATEMENTS_PER_WAIT;
    try {
      return await bounded(work, maxWaitMs, `PostgreSQL ${what}`, signal);
    } catch (error) {
      throw translatePostgresError(error, what, this.#connection.server);
    }
  }

  #tell({ type, isNew, rows, vectorIndexes }: OpenedCollection, { dims }: VectorContract): void {
    const { table } = this.#names;
    const fields = { table, dims, type: type.element };
    if (isNew) this.#log.info('postgres collection created', fields);
    const index = { ...fields, rows, sql: indexSql(table, type, dims) };
    const advice = indexAdvice({ rows, vectorIndexes });
    if (advice === 'index missing')
      this.#log.warn('postgres table has no vector index: a search reads all of it', index);
    if (advice === 'index slows writes')
      this.#log.warn('postgres vector index slows writes: drop it for a large ingestion', index);
  }

  #parts() {
    return { connection: this.#connection, names: this.#names, options: this.#options };
  }

  #checkNew(signal: AbortSignal | undefined): void {
    throwIfAborted(signal, 'opening PostgreSQL');
    if (!this.#closed && !this.#collection) return;
    throw new ServingError('ARGUMENT_INVALID', `the pgvector sink is ${this.#closed ? 'closed' : 'open already'}`);
  }

  #requireModel(): Collection & { readonly model: VectorContract } {
    const collection = this.#require();
    if (collection.model === undefined) throw openForReading('pgvector');
    return { ...collection, model: collection.model };
  }

  #require(): Collection {
    if (this.#collection !== undefined) return this.#collection;
    throw new ServingError('SINK_UNAVAILABLE', `the pgvector sink is ${this.#closed ? 'closed' : 'not open'}`);
  }
}

function float32Bytes(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
