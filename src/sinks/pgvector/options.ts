/** What the pgvector sink can be told, with its defaults; checked before anything is opened. */
import type { PostgresAddress } from '../../config/postgres-url.ts';
import { ServingError } from '../../errors.ts';
import { checkTombstoneRetention, DEFAULT_TOMBSTONE_RETENTION_MS } from '../tombstones.ts';
import { parsePostgresUrl } from './url.ts';

/** Element types of pgvector: `vector` has 4 bytes an element, `halfvec` 2. */
export type PgElement = 'vector' | 'halfvec';

export type PgVectorSinkOptions = {
  /** `postgres://user:password@host:port/database`; holds the password, never shown. RAG_SERVING_PGVECTOR_URL */
  readonly url: string;
  /** Table, or schema.table: the collection. RAG_SERVING_PGVECTOR_TABLE */
  readonly table?: string;
  /** Column type; what holds the model's own elements exactly unless given. RAG_SERVING_PGVECTOR_TYPE */
  readonly element?: PgElement;
  readonly allowMixedFingerprints?: boolean;
  /** How long a deletion is remembered. RAG_SERVING_TOMBSTONE_RETENTION_MS */
  readonly tombstoneRetentionMs?: number;
  /** PEM texts of TLS: the authority of the server where the system does not know it, and what we show the server. */
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Connections, and so calls at once; further calls wait. RAG_SERVING_PGVECTOR_POOL_SIZE */
  readonly poolSize?: number;
  readonly connectTimeoutMs?: number;
  /** Limit of each statement, in the server and here. RAG_SERVING_PGVECTOR_STATEMENT_TIMEOUT_MS */
  readonly statementTimeoutMs?: number;
  readonly closeTimeoutMs?: number;
};

type Optional = 'url' | 'table' | 'element' | 'tlsCa' | 'tlsCert' | 'tlsKey';

export type ResolvedPgVectorOptions = Required<Omit<PgVectorSinkOptions, Optional>> &
  Pick<PgVectorSinkOptions, 'element' | 'tlsCa' | 'tlsCert' | 'tlsKey'> & {
    readonly address: PostgresAddress;
    readonly schema: string;
    readonly table: string;
  };

/** PostgreSQL cuts names at 63 bytes; the longest of ours adds 13. */
const TABLE = /^(?:([A-Za-z_][A-Za-z0-9_-]{0,62})\.)?([A-Za-z_][A-Za-z0-9_-]{0,49})$/;

export function parseTableName(tableName: string): { readonly schema: string; readonly table: string } {
  const name = TABLE.exec(tableName);
  if (name === null) {
    throw new ServingError(
      'CONFIG_INVALID',
      `RAG_SERVING_PGVECTOR_TABLE has ${tableName.length} characters; it must be table or schema.table, the table 1 to 50 letters, digits, "_" or "-"`,
    );
  }
  return { schema: name[1] ?? 'public', table: name[2]! };
}

export function resolvePgVectorOptions(options: PgVectorSinkOptions): ResolvedPgVectorOptions {
  const { url, table = 'rag_chunks', ...rest } = options;
  const named = parseTableName(table);
  const tombstoneRetentionMs = rest.tombstoneRetentionMs ?? DEFAULT_TOMBSTONE_RETENTION_MS;
  checkTombstoneRetention(tombstoneRetentionMs);
  return {
    allowMixedFingerprints: false,
    poolSize: 4,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 30_000,
    closeTimeoutMs: 2_000,
    ...rest,
    tombstoneRetentionMs,
    ...named,
    address: parsePostgresUrl(url),
  };
}
