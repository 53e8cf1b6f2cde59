/** What the store holds, read with plain commands and none of the product's code, past the proxy. */
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { StoredChunk } from './model.ts';
import type { StoreKind } from './settings.ts';

export type StoreContents = {
  readonly rows: ReadonlyMap<string, StoredChunk>;
  /** The collection's own count of its rows. */
  readonly counted: number;
};

const PAGE = 500;

export interface ChaosStore {
  /** All rows; of what it finds only by looking everywhere too. */
  read(known: readonly string[]): Promise<StoreContents>;
  close(): Promise<void>;
}

/** @param prefix of the keys, for a Redis */
export function openStore(kind: StoreKind, port: number, prefix: string): ChaosStore {
  return kind === 'redis' ? new RedisContents(port, prefix) : new PostgresContents(port);
}

class PostgresContents implements ChaosStore {
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  async read(): Promise<StoreContents> {
    const connectionString = `postgres://postgres@127.0.0.1:${this.#port}/postgres`;
    const client = new Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 20_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const sql = 'SELECT chunk_id, document_id, version, text, halfvec_send(vector) AS vector FROM rag_chunks';
      const found = (await client.query<PostgresRow>(sql)).rows.map(({ vector, version, ...row }) => {
        // Four bytes of header, then big-endian halves.
        const bytes = Buffer.from(vector.subarray(4)).swap16();
        const text = row.text ?? '';
        return [
          row.chunk_id,
          { documentId: row.document_id, version: numberOf(version), text, vector: bytes },
        ] as const;
      });
      return { rows: new Map(found), counted: found.length };
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async close(): Promise<void> {}
}

type PostgresRow = {
  readonly chunk_id: string;
  readonly document_id: string;
  readonly version: string | null;
  readonly text: string | null;
  readonly vector: Buffer;
};

function numberOf(version: string | null): number | undefined {
  return version === null ? undefined : Number(version);
}

class RedisContents implements ChaosStore {
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
