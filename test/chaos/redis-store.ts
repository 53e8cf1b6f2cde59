/** Rows of the sink redis, by plain commands. */
import { Redis } from 'ioredis';
import type { StoredChunk } from './model.ts';
import type { ChaosStore, StoreContents } from './store.ts';

const PAGE = 500;

export class RedisContents implements ChaosStore {
  readonly #prefix: string;
  readonly #client: Redis;

  constructor(port: number, prefix: string) {
    this.#prefix = prefix;
    this.#client = new Redis({
      port,
      host: '127.0.0.1',
      lazyConnect: true,
      enableOfflineQueue: true,
      maxRetriesPerRequest: 2,
      commandTimeout: 5_000,
      retryStrategy: () => 200,
    });
    // Its outages are part of the game; a command that fails says so itself.
    this.#client.on('error', () => undefined);
  }

  /** `known` ids are read one by one; of others it tells those that a scan finds. */
  async read(known: readonly string[]): Promise<StoreContents> {
    const ids = new Set(known);
    const chunkKeys = `${this.#prefix}chunk:`;
    for (let cursor = '0'; ; ) {
      const [next, keys] = await this.#client.scan(cursor, 'MATCH', `${chunkKeys}*`, 'COUNT', PAGE);
      for (const key of keys) ids.add(key.slice(chunkKeys.length));
      if ((cursor = next) === '0') break;
    }
    const rows = new Map<string, StoredChunk>();
    const all = [...ids];
    for (let from = 0; from < all.length; from += PAGE) {
      const page = all.slice(from, from + PAGE);
      const pipeline = this.#client.pipeline();
      for (const id of page) pipeline.hmgetBuffer(`${chunkKeys}${id}`, 'document_id', 'version', 'text', 'vector');
      for (const [index, [error, fields]] of ((await pipeline.exec()) ?? []).entries()) {
        if (error !== null) throw error;
        const row = rowOf(fields as (Buffer | null)[]);
        if (row !== undefined) rows.set(page[index]!, row);
      }
    }
    return { rows, counted: Number((await this.#client.hget(`${this.#prefix}meta`, 'rows')) ?? 0) };
  }

  async close(): Promise<void> {
    this.#client.disconnect();
  }
}

/** A hash without a vector is no row: a store may remember a deletion. */
function rowOf([documentId, version, text, vector]: readonly (Buffer | null)[]): StoredChunk | undefined {
  if (!vector) return undefined;
  return {
    documentId: documentId?.toString() ?? '',
    version: version ? Number(version.toString()) : undefined,
    text: text?.toString() ?? '',
    vector,
  };
}
