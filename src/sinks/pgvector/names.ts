/** Names of one collection, quoted and with their schema: nothing depends on a search path. */
import type { ResolvedPgVectorOptions } from './options.ts';

export type PgNames = {
  readonly schema: string;
  /** As the key of its line in the collections table. */
  readonly plainTable: string;
  readonly table: string;
  readonly tombstones: string;
  /** What each collection of the schema holds. */
  readonly collections: string;
  readonly documentIndex: string;
  readonly tombstoneIndex: string;
};

export function pgNames({ schema, table }: Pick<ResolvedPgVectorOptions, 'schema' | 'table'>): PgNames {
  const inSchema = (name: string) => `${quoted(schema)}.${quoted(name)}`;
  return {
    schema,
    plainTable: table,
    table: inSchema(table),
    tombstones: inSchema(`${table}_tombstones`),
    collections: inSchema('rag_serving_collections'),
    documentIndex: quoted(`${table}_document`),
    tombstoneIndex: quoted(`${table}_tomb_time`),
  };
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
