/**
 * Sink on Redis: a hash a chunk, a set of chunk ids a document, one hash for the collection (keys.ts).
 *
 * Any number of workers may write: the revision guard runs inside Redis (script.ts). Redis must be told never to evict
 * (`maxmemory-policy noeviction`) and to keep what it acknowledged (`appendonly yes`). `search` reads every row and is
 * meant for checks; serve queries from a vector index over the field `vector`.
 */
import type { Clock } from '../../clock.ts';
import { ServingError } from '../../errors.ts';
import type { VectorContract, VectorDtype } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import { contractMismatch } from '../contract-check.ts';
import { lastOfEachStored } from '../last-of-each.ts';
import { screenRows } from '../row-check.ts';
import { checkQuery, cosine, decodeVector, Nearest } from '../similarity.ts';
import type { RowOutcome, SearchHit, Sink, SinkRow, StoredRow } from '../sink.ts';
import { loadScripts, repliesOf, runScripts, type ScriptCall } from './commands.ts';
import { RedisConnection } from './connection.ts';
import { translateRedisError } from './errors.ts';
import { type RedisKeys, redisKeys } from './keys.ts';
import { type RedisSinkOptions, type ResolvedRedisOptions, resolveRedisOptions } from './options.ts';
import { fieldsToHit, HIT_FIELDS, hashToRow } from './rows.ts';
import { claimScript, removeChunkScript, removeDocumentScript } from './script.ts';
import { writeCalls, writeScript } from './write-script.ts';

type Collection = { readonly contract: VectorContract; readonly storedDtype: VectorDtype };

const SCRIPTS = [writeScript, removeChunkScript, removeDocumentScript, claimScript];
const SCAN_PAGE = 1_000;
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

  async open(contract: VectorContract, signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal, 'opening Redis');
    if (this.#closed) throw new ServingError('ARGUMENT_INVALID', 'the Redis sink is closed');
    await this.#connection.untilReady(signal);
    this.#collection = { contract, storedDtype: this.#options.storedDtype ?? contract.dtype };
    try {
      await this.#run('opening', async () => this.#warnOfEviction(), signal);
    } catch (error) {
      this.#collection = undefined;
      throw error;
    }
  }

  async write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { contract, storedDtype } = this.#require();
    // Before any wait: from here on the caller's memory is its own again.
    const screened = screenRows(rows, contract);
    const target = { prefix: this.#keys.prefix, metaKey: this.#keys.meta, contract, storedDtype };
    const calls = writeCalls(screened.accepted, target);
    const outcomes = await this.#run('write', async () => runScripts(this.#connection, 'write', calls), signal);
    return screened.complete(lastOfEachStored(screened.accepted, outcomes));
  }

  async remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
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
    return this.#run(
      'fetch',
      async ({ contract, storedDtype }) => {
        const pipeline = this.#connection.client.pipeline();
        for (const id of chunkIds) pipeline.hgetallBuffer(this.#keys.chunk(id));
        const hashes = (await repliesOf(pipeline, this.#connection, 'fetch')) as Record<string, Buffer>[];
        return hashes
          .filter((hash) => hash.chunk_id !== undefined)
          .map((hash) => hashToRow(hash, contract, storedDtype));
      },
      signal,
    );
  }

  async search(vector: Float32Array, limit: number, signal?: AbortSignal): Promise<readonly SearchHit[]> {
    const { contract, storedDtype } = this.#require();
    checkQuery(vector, limit, contract);
    const nearest = new Nearest<string>(limit);
    // SCAN may give a key more than once.
    const seen = new Set<string>();
    let cursor = '0';
    do {
      cursor = await this.#run(
        'search',
        async () => {
          const [next, keys] = await this.#connection.client.scan(
            cursor,
            'MATCH',
            this.#keys.chunkPattern,
            'COUNT',
            SCAN_PAGE,
          );
          const fresh = keys.filter((key) => !seen.has(key) && seen.add(key));
          const vectors = await this.#vectorsOf(fresh);
          for (const [index, blob] of vectors.entries()) {
            if (blob !== null) nearest.offer(cosine(vector, decodeVector(blob, storedDtype)), fresh[index]!);
          }
          return next;
        },
        signal,
      );
    } while (cursor !== '0');
    return this.#run('search', async () => this.#hitsOf(nearest), signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#collection = undefined;
    await this.#connection.close(this.#options.closeTimeoutMs);
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

  async #vectorsOf(keys: readonly string[]): Promise<(Buffer | null)[]> {
    const pipeline = this.#connection.client.pipeline();
    for (const key of keys) pipeline.hgetBuffer(key, 'vector');
    return (await repliesOf(pipeline, this.#connection, 'search')) as (Buffer | null)[];
  }

  async #hitsOf(nearest: Nearest<string>): Promise<SearchHit[]> {
    const best = nearest.best();
    const pipeline = this.#connection.client.pipeline();
    for (const { item } of best) pipeline.hmget(item, ...HIT_FIELDS);
    const hits = (await repliesOf(pipeline, this.#connection, 'search')) as (string | null)[][];
    return hits.map((values, index) => fieldsToHit(values, best[index]!.score));
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
    try {
      return await bounded(
        prepareAndWork(),
        this.#options.commandTimeoutMs * COMMANDS_PER_WAIT,
        `Redis ${what}`,
        signal,
      );
    } catch (error) {
      throw translateRedisError(error, what, this.#connection.server);
    }
  }

  async #prepare({ contract, storedDtype }: Collection): Promise<void> {
    try {
      await loadScripts(this.#connection, SCRIPTS);
      const { fingerprint, dims, dtype } = contract;
      const claim = [fingerprint, String(dims), dtype, storedDtype] as const;
      const reply = await this.#connection.client.evalsha(claimScript.sha, 1, this.#keys.meta, ...claim);
      this.#checkClaim(reply as [string, string, string, string, number], contract, storedDtype);
    } catch (error) {
      this.#prepared = undefined;
      throw error;
    }
  }

  #checkClaim(
    reply: [string, string, string, string, number],
    contract: VectorContract,
    storedDtype: VectorDtype,
  ): void {
    const collection = `Redis collection "${this.#keys.prefix}" at ${this.#connection.server}`;
    const [fingerprint, dims, dtype, stored, isNew] = reply;
    const name = { collection, setting: 'RAG_SERVING_REDIS_KEY_PREFIX' };
    const mismatch = contractMismatch(
      { fingerprint, dims: Number(dims), dtype },
      contract,
      name,
      this.#options.allowMixedFingerprints,
    );
    if (mismatch !== undefined) throw mismatch;
    if (stored !== storedDtype) {
      throw new ServingError(
        'SINK_SCHEMA_MISMATCH',
        `${collection} keeps vectors as ${stored}, this worker would write ${storedDtype}: use one setting or a new RAG_SERVING_REDIS_KEY_PREFIX`,
      );
    }
    const fields = { prefix: this.#keys.prefix, dims: contract.dims };
    if (isNew === 1 && this.#everPrepared)
      this.#log.error('redis came back without its data: set appendonly yes', fields);
    else if (isNew === 1) this.#log.info('redis collection created', fields);
    this.#everPrepared = true;
  }

  async #warnOfEviction(): Promise<void> {
    const info = await this.#connection.client.info('memory').catch(() => '');
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
    if (policy !== undefined && policy !== 'noeviction') {
      this.#log.warn('redis may evict stored chunks: set maxmemory-policy noeviction', { policy });
    }
  }

  #require(): Collection {
    if (this.#collection !== undefined) return this.#collection;
    throw new ServingError('SINK_UNAVAILABLE', `the Redis sink is ${this.#closed ? 'closed' : 'not open'}`);
  }
}
