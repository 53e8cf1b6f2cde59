/** What the store holds, read with plain commands and none of the product's code, past the proxy. */
import { FolderContents } from './lancedb-store.ts';
import type { StoredChunk } from './model.ts';
import { PostgresContents } from './postgres-store.ts';
import { RedisContents } from './redis-store.ts';
import type { StoreKind } from './settings.ts';
import { TopicContents } from './topic-store.ts';

export type StoreContents = {
  readonly rows: ReadonlyMap<string, StoredChunk>;
  /** The collection's own count of its rows. */
  readonly counted: number;
  /** Rows that are there more than once though each may be only once. */
  readonly repeated?: readonly string[];
};

export interface ChaosStore {
  /** Of a store in which what is committed can be seen only some time later. */
  readonly lagsBehindCommits?: boolean;
  /** All rows; of what it finds only by looking everywhere too. */
  read(known: readonly string[]): Promise<StoreContents>;
  close(): Promise<void>;
}

export type Place = {
  /** Of the server that holds the rows. */
  readonly port: number;
  /** Of the keys, for a Redis. */
  readonly prefix: string;
  /** Of LanceDB. */
  readonly folder: string;
  /** Of the rows, for a broker. */
  readonly topic: string;
};

export function openStore(kind: StoreKind, { port, prefix, folder, topic }: Place): ChaosStore {
  switch (kind) {
    case 'redis':
      return new RedisContents(port, prefix);
    case 'pgvector':
      return new PostgresContents(port);
    case 'lancedb':
      return new FolderContents(folder);
    case 'kafka-topic':
      return new TopicContents(port, topic);
  }
}
