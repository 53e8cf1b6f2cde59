/** Notes and dropping of collections in Redis. A note is a hash below the prefix of its collection, compared and set by a script. */
import type { JsonObject } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import type { Note, StoreAdmin } from '../store-admin.ts';
import { RedisConnection } from './connection.ts';
import { translateRedisError } from './errors.ts';
import { globOf, redisKeys } from './keys.ts';
import { type RedisSinkOptions, type ResolvedRedisOptions, resolveRedisOptions } from './options.ts';

const WRITE_NOTE = `
local revision = redis.call('HGET', KEYS[1], 'revision') or '0'
if revision ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'revision', ARGV[2], 'value', ARGV[3])
return 1
`;
const SCAN_COUNT = 1_000;

export class RedisAdmin implements StoreAdmin {
  readonly #options: ResolvedRedisOptions;
  readonly #connection: RedisConnection;

  constructor(options: RedisSinkOptions, log: Log) {
    this.#options = resolveRedisOptions(options);
    this.#connection = new RedisConnection(this.#options, log, () => {});
  }

  readNote(collection: string, signal?: AbortSignal): Promise<Note | undefined> {
    return this.#run(
      'reading a note',
      async () => {
        const [value, revision] = await this.#connection.client.hmget(noteKey(collection), 'value', 'revision');
        if (typeof value !== 'string') return undefined;
        return { value: JSON.parse(value) as JsonObject, revision: Number(revision) };
      },
      signal,
    );
  }

  writeNote(collection: string, value: JsonObject, revision: number, signal?: AbortSignal): Promise<boolean> {
    const args = [String(revision), String(revision + 1), JSON.stringify(value)];
    return this.#run(
      'writing a note',
      async () => (await this.#connection.client.eval(WRITE_NOTE, 1, noteKey(collection), ...args)) === 1,
      signal,
    );
  }

  async drop(collection: string, signal?: AbortSignal): Promise<void> {
    const { meta } = redisKeys(collection);
    // Last, so that a drop that was cut short is seen and can be done again.
    const patterns = ['chunk:*', 'doc:*', 'tombstone:*'].map((kind) => `${globOf(collection)}${kind}`);
    for (const pattern of patterns) {
      let cursor = '0';
      do {
        cursor = await this.#run('drop', () => this.#unlink(cursor, pattern), signal);
      } while (cursor !== '0');
    }
    await this.#run('drop', () => this.#connection.client.unlink(meta), signal);
  }

  close(): Promise<void> {
    return this.#connection.close(this.#options.closeTimeoutMs);
  }

  async #unlink(cursor: string, pattern: string): Promise<string> {
    const { client } = this.#connection;
    const [next, keys] = await client.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
    if (keys.length > 0) await client.unlink(...keys);
    return next;
  }

  async #run<T>(what: string, work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    throwIfAborted(signal, `Redis ${what}`);
    await this.#connection.untilReady(signal);
    try {
      return await bounded(work(), this.#options.commandTimeoutMs * 2, `Redis ${what}`, signal);
    } catch (error) {
      throw translateRedisError(error, what, this.#connection.server);
    }
  }
}

function noteKey(collection: string): string {
  return `${collection}note`;
}
