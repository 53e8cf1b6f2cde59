/**
 * Sink on Redis: a hash a chunk, a set of chunk ids a document, one hash for the collection (keys.ts).
 *
 * Any number of workers may write: the revision guard runs inside Redis (script.ts). Redis must be told never to evict
 * (`maxmemory-policy noeviction`) and to keep what it acknowledged (`appendonly yes`). Where the server has a search
 * engine, a vector index is kept over the rows (search-index.ts); elsewhere `search` reads every row.
 */
import type { Clock } from '../../clock.ts';
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import { openForReading } from '../contract-check.ts';
import { lastOfEachStored } from '../last-of-each.ts';
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
import { type CollectionPlace, claimCollection, findCollection, nameOf, type RedisCollection } from './collection.ts';
import { loadScripts, runScripts, type ScriptCall } from './commands.ts';
import { RedisConnection } from './connection.ts';
import { translateRedisError } from './errors.ts';
import { ensureIndex, findIndex, type IndexState, indexText, searchIndex } from './indexes.ts';
import { type RedisKeys, redisKeys } from './keys.ts';
import { type RedisSinkOptions, type ResolvedRedisOptions, resolveRedisOptions } from './options.ts';
import { fetchRows, Scoring } from './reads.ts';
import { nextToken, scanIds } from './scan.ts';
import { claimScript, removeChunkScript, removeDocumentScript } from './script.ts';
import { writeCalls, writeScript } from './write-script.ts';

type Collection = RedisCollection & {
  /** Of a worker; undefined when it was opened to be looked at. */
  readonly model: VectorContract | undefined;
};

const SCRIPTS = [writeScript, removeChunkScript, removeDocumentScript, claimScript];
/** A wait is several commands, each with a limit of its own: this only catches what should not be. */
const COMMANDS_PER_WAIT = 6;

export class RedisSink implements Sink {
  readonly name = 'redis';
  readonly #options: ResolvedRedisOptions;
  readonly #keys: RedisKeys;
  readonly #connection: RedisConnection;
  readonly #log: Log;
  readonly #clock: Clock;
  #collection: Collection | undefined;
  /** Scripts loaded and contract checked on this connection; undefined after each reconnect. */
  #prepared: Promise<void> | undefined;
  #everPrepared = false;
  #closed = false;

  constructor(options: RedisSinkOptions, log: Log, clock: Clock) {
    this.#clock = clock;
    this.#options = resolveRedisOptions(options);
    this.#keys = redisKeys(this.#options.keyPrefix);
    this.#log = log;
    this.#connection = new RedisConnection(this.#options, log, () => {
      this.#prepared = undefined;
    });
  }

  get #place(): CollectionPlace {
    return { connection: this.#connection, keys: this.#keys };
  }

  async open(contract: VectorContract, signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal, 'opening Redis');
    if (this.#closed) throw new ServingError('ARGUMENT_INVALID', 'the Redis sink is closed');
    if (this.#collection !== undefined && this.#collection.model === undefined) {
      throw new ServingError('ARGUMENT_INVALID', 'the Redis sink was opened for reading already');
    }
    await this.#connection.untilReady(signal);
    this.#collection = { contract, model: contract, storedDtype: this.#options.storedDtype ?? contract.dtype };
    try {
      await this.#run('opening', async () => this.#warnOfEviction(), signal);
      this.#tellIndex(
        await this.#run('making the index', (own) => ensureIndex(this.#place, own, this.#options.index), signal),
      );
    } catch (error) {
      this.#collection = undefined;
      throw error;
    }
  }

  async inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined> {
    throwIfAborted(signal, 'reading Redis');
    if (this.#closed || this.#collection) {
      throw new ServingError('ARGUMENT_INVALID', `the Redis sink is ${this.#closed ? 'closed' : 'open already'}`);
    }
    await this.#connection.untilReady(signal);
    const found = await this.#bounded('reading', findCollection(this.#place), signal);
    if (found === undefined) return undefined;
    this.#collection = { ...found, model: undefined };
    try {
      const rows = await this.count(signal);
      const index = await this.#bounded('reading', findIndex(this.#place, found), signal);
      return { ...nameOf(this.#place), ...found.contract, rows, index: indexText(index) };
    } catch (error) {
      this.#collection = undefined;
      throw error;
    }
  }

  async write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { model: contract, storedDtype } = this.#requireModel();
    // Before any wait: from here on the caller's memory is its own again.
    const screened = screenRows(rows, contract);
    const target = { prefix: this.#keys.prefix, metaKey: this.#keys.meta, contract, storedDtype };
    const calls = writeCalls(screened.accepted, target);
    const outcomes = await this.#run('write', async () => runScripts(this.#connection, 'write', calls), signal);
    return screened.complete(lastOfEachStored(screened.accepted, outcomes));
  }

  async remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    this.#requireModel();
    const calls = deletions.map((deletion) => this.#removeCall(deletion));
    return this.#run('deletion', async () => runScripts(this.#connection, 'deletion', calls), signal);
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#run('ping', async () => this.#connection.client.ping(), signal);
  }

  async count(signal?: AbortSignal): Promise<number> {
    const rows = await this.#run('count', async () => this.#connection.client.hget(this.#keys.meta, 'rows'), signal);
    return Number(rows ?? 0);
  }

  async fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    return this.#run('fetch', (collection) => fetchRows(this.#place, collection, chunkIds), signal);
  }

  /** In no order. Walks over the keys of the whole database, so the other collections in it cost time too. */
  async scan(after: string | undefined, limit: number, signal?: AbortSignal): Promise<ScanPage> {
    for (let token = after; ; ) {
      const at = token;
      const page = await this.#run(
        'scan',
        async (collection) => {
          const { ids, place } = await scanIds(this.#place, at, limit);
          return { rows: await fetchRows(this.#place, collection, ids), next: nextToken(place) };
        },
        signal,
      );
      if (page.rows.length > 0 || page.next === undefined) return page;
      token = page.next;
    }
  }

  async search(
    vector: Float32Array,
    wanted: number | SearchScope,
    signal?: AbortSignal,
  ): Promise<readonly SearchHit[]> {
    const { contract, storedDtype } = this.#require();
    const scope = scopeOf(wanted);
    checkQuery(vector, scope.limit, contract);
    const search = new Scoring(this.#place, vector, scope, storedDtype);
    const isIndexed = await this.#run(
      'search',
      (collection) => this.#offerIndexed(search, collection, vector, scope),
      signal,
    );
    if (isIndexed) return this.#run('search', () => search.hits(), signal);
    let cursor = '0';
    do {
      const at = cursor;
      cursor = await this.#run('search', () => search.page(at), signal);
    } while (cursor !== '0');
    return this.#run('search', () => search.hits(), signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#collection = undefined;
    await this.#connection.close(this.#options.closeTimeoutMs);
  }

  /** False where there is no index that serves: then every row must be looked at. */
  async #offerIndexed(
    search: Scoring,
    collection: Collection,
    vector: Float32Array,
    { limit, tenantId }: SearchScope,
  ): Promise<boolean> {
    if (this.#options.index === 'off') return false;
    const state = await findIndex(this.#place, collection);
    if (state.kind === 'none') return false;
    const query = { vector, limit, tenantId, timeoutMs: this.#options.commandTimeoutMs };
    await search.offer(await searchIndex(this.#place, state.wanted, query));
    return true;
  }

  #removeCall({ scope, id, source }: Deletion): ScriptCall {
    const isChunk = scope === 'chunk';
    return {
      script: isChunk ? removeChunkScript : removeDocumentScript,
      rows: 1,
      keys: [
        isChunk ? this.#keys.chunk(id) : this.#keys.document(id),
        this.#keys.meta,
        this.#keys.tombstone(scope, id),
      ],
      args: [
        ...[id, source.topic, String(source.partition), String(source.offset), this.#keys.prefix],
        ...[String(Math.trunc(this.#clock.wallMs())), String(this.#options.tombstoneRetentionMs)],
      ],
    };
  }

  /** Every use of the connection: open, prepared, bounded, errors translated. */
  async #run<T>(
    what: string,
    work: (collection: Collection) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const collection = this.#require();
    throwIfAborted(signal, `Redis ${what}`);
    const prepareAndWork = async () => {
      await (this.#prepared ??= this.#prepare(collection));
      return work(collection);
    };
    return this.#bounded(what, prepareAndWork(), signal);
  }

  async #bounded<T>(what: string, work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const maxWaitMs = this.#options.commandTimeoutMs * COMMANDS_PER_WAIT;
    try {
      return await bounded(work, maxWaitMs, `Redis ${what}`, signal);
    } catch (error) {
      throw translateRedisError(error, what, this.#connection.server);
    }
  }

  /** One that only looks leaves nothing behind, not even a script. */
  async #prepare({ model, storedDtype }: Collection): Promise<void> {
    if (model === undefined) return;
    try {
      await loadScripts(this.#connection, SCRIPTS);
      const isNew = await claimCollection(this.#place, model, storedDtype, this.#options.allowMixedFingerprints);
      const fields = { prefix: this.#keys.prefix, dims: model.dims };
      if (isNew && this.#everPrepared) this.#log.error('redis came back without its data: set appendonly yes', fields);
      else if (isNew) this.#log.info('redis collection created', fields);
      this.#everPrepared = true;
    } catch (error) {
      this.#prepared = undefined;
      throw error;
    }
  }

  #tellIndex(state: IndexState): void {
    const fields = { prefix: this.#keys.prefix, index: indexText(state) };
    if (state.kind === 'made') this.#log.info('redis vector index created', fields);
    else if (state.kind === 'ready') this.#log.info('redis vector index is there', fields);
    else this.#log.info('redis collection has no vector index: a search reads every row', fields);
  }

  async #warnOfEviction(): Promise<void> {
    const info = await this.#connection.client.info('memory').catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
    if (policy !== undefined && policy !== 'noeviction') {
      this.#log.warn('redis may evict stored chunks: set maxmemory-policy noeviction', { policy });
    }
  }

  #requireModel(): Collection & { readonly model: VectorContract } {
    const collection = this.#require();
    if (collection.model === undefined) throw openForReading('Redis');
    return { ...collection, model: collection.model };
  }

  #require(): Collection {
    if (this.#collection !== undefined) return this.#collection;
    throw new ServingError('SINK_UNAVAILABLE', `the Redis sink is ${this.#closed ? 'closed' : 'not open'}`);
  }
}
