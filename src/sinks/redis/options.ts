/** What the Redis sink can be told, with its defaults; checked before anything is opened. */
import type { RedisAddress } from '../../config/redis-url.ts';
import { ServingError } from '../../errors.ts';
import type { VectorDtype } from '../../kserve/contract.ts';
import { checkTombstoneRetention, DEFAULT_TOMBSTONE_RETENTION_MS } from '../tombstones.ts';
import type { RedisIndexKind } from './search-index.ts';
import { parseRedisUrl } from './url.ts';

export type RedisSinkOptions = {
  /** `redis://` or, with TLS, `rediss://`; holds the password, never shown. RAG_SERVING_REDIS_URL */
  readonly url: string;
  /** Before each key: the collection. RAG_SERVING_REDIS_KEY_PREFIX */
  readonly keyPrefix?: string;
  /** Element type of the stored blob: that of the vector index over it. The model's own unless given. */
  readonly storedDtype?: VectorDtype;
  /** Of the vector index, where the server has a search engine; hnsw unless given. RAG_SERVING_REDIS_INDEX */
  readonly index?: RedisIndexKind;
  readonly allowMixedFingerprints?: boolean;
  /** How long a deletion is remembered. RAG_SERVING_TOMBSTONE_RETENTION_MS */
  readonly tombstoneRetentionMs?: number;
  /** PEM text of the certificate authority of a `rediss://` server, where the system does not know it. */
  readonly tlsCa?: string;
  readonly connectTimeoutMs?: number;
  /** Limit of each command; a command without an answer by then counts as an outage. */
  readonly commandTimeoutMs?: number;
  readonly closeTimeoutMs?: number;
};

export type ResolvedRedisOptions = Required<Omit<RedisSinkOptions, 'url' | 'storedDtype' | 'tlsCa'>> &
  Pick<RedisSinkOptions, 'storedDtype' | 'tlsCa'> & { readonly address: RedisAddress };

export function resolveRedisOptions(options: RedisSinkOptions): ResolvedRedisOptions {
  const { url, ...rest } = options;
  if (rest.keyPrefix !== undefined && (rest.keyPrefix === '' || rest.keyPrefix.length > 200)) {
    throw new ServingError(
      'CONFIG_INVALID',
      `RAG_SERVING_REDIS_KEY_PREFIX has ${rest.keyPrefix.length} characters; 1 to 200 are allowed`,
    );
  }
  const tombstoneRetentionMs = rest.tombstoneRetentionMs ?? DEFAULT_TOMBSTONE_RETENTION_MS;
  checkTombstoneRetention(tombstoneRetentionMs);
  return {
    keyPrefix: 'rag:',
    index: 'hnsw',
    allowMixedFingerprints: false,
    connectTimeoutMs: 5_000,
    commandTimeoutMs: 10_000,
    closeTimeoutMs: 2_000,
    ...rest,
    tombstoneRetentionMs,
    address: parseRedisUrl(url),
  };
}
