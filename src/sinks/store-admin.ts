/**
 * StoreAdmin: the port to what a store holds beside rows: one note a collection, and whole collections to be dropped.
 *
 * A note is changed in one atomic step and only by who knows its revision, so of two that change it at once one is told so.
 * Reading creates nothing.
 */
import { ServingError } from '../errors.ts';
import type { JsonObject } from '../records/chunk.ts';
import type { Log } from '../telemetry/log.ts';
import type { SingleSinkChoice, SinkChoice } from './registry.ts';

export type Note = {
  readonly value: JsonObject;
  /** From 1, one more with each change. */
  readonly revision: number;
};

export interface StoreAdmin {
  /** Undefined where there is none. */
  readNote(collection: string, signal?: AbortSignal): Promise<Note | undefined>;
  /** False, and nothing changed, when the note is not at `revision` any more; 0: there must be none. */
  writeNote(collection: string, value: JsonObject, revision: number, signal?: AbortSignal): Promise<boolean>;
  /** Takes rows, deletions and contract of the collection out of the store; its note stays. Nobody may be writing it. */
  drop(collection: string, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A collection of one store, as the settings name it. */
export type CollectionChoice = Exclude<SingleSinkChoice, { readonly name: 'memory' | 'kafka-topic' | 'module' }>;

export async function createStoreAdmin(choice: CollectionChoice, log: Log): Promise<StoreAdmin> {
  switch (choice.name) {
    case 'lancedb':
      return new (await import('./lancedb/admin.ts')).LanceDbAdmin(choice.options);
    case 'redis':
      return new (await import('./redis/admin.ts')).RedisAdmin(choice.options, log);
    case 'pgvector':
      return new (await import('./pgvector/admin.ts')).PgVectorAdmin(choice.options, log);
  }
}

/** Throws for what has no collections to change: several stores at once, a store that forgets, and a topic. */
export function oneCollection(choice: SinkChoice): CollectionChoice {
  if (
    choice.name !== 'fan-out' &&
    choice.name !== 'memory' &&
    choice.name !== 'kafka-topic' &&
    choice.name !== 'module'
  ) {
    return choice;
  }
  throw new ServingError(
    'CONFIG_INVALID',
    `RAG_SERVING_SINK is ${choice.name !== 'fan-out' ? choice.name : choice.members.map(({ name }) => name).join(',')}: this works on the collections of one store, lancedb, redis or pgvector; name one, and do several one after the other`,
  );
}

export function collectionNameOf(choice: CollectionChoice): string {
  switch (choice.name) {
    case 'lancedb':
      return choice.options.table;
    case 'redis':
      return choice.options.keyPrefix ?? 'rag:';
    case 'pgvector':
      return choice.options.table ?? 'rag_chunks';
  }
}

/** Another collection of the same store. */
export function withCollection(choice: CollectionChoice, collection: string): CollectionChoice {
  switch (choice.name) {
    case 'lancedb':
      return { name: choice.name, options: { ...choice.options, table: collection } };
    case 'redis':
      return { name: choice.name, options: { ...choice.options, keyPrefix: collection } };
    case 'pgvector':
      return { name: choice.name, options: { ...choice.options, table: collection } };
  }
}
