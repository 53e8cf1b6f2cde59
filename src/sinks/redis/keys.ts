/** Key names of one collection: everything it owns begins with its prefix. */
import type { Deletion } from '../../records/chunk.ts';

export type RedisKeys = {
  readonly prefix: string;
  /** Hash: the vector contract, and `rows`, the number of chunks. */
  readonly meta: string;
  /** Matches every chunk key. */
  readonly chunkPattern: string;
  /** Hash of one chunk. */
  chunk(id: string): string;
  /** Set of the chunk ids of one document. */
  document(id: string): string;
  /** Hash of what is remembered of deletions of this id: an offset for each partition. It expires. */
  tombstone(scope: Deletion['scope'], id: string): string;
};

export function redisKeys(prefix: string): RedisKeys {
  return {
    prefix,
    meta: `${prefix}meta`,
    chunkPattern: `${globOf(prefix)}chunk:*`,
    chunk: (id) => `${prefix}chunk:${id}`,
    document: (id) => `${prefix}doc:${id}`,
    tombstone: (scope, id) => `${prefix}tombstone:${scope}:${id}`,
  };
}

/** Text as a pattern of Redis that matches only itself. */
export function globOf(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}
