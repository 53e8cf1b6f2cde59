/** Opening a table that may not be there yet, and the index that finds its rows. */
import type { Connection, Table } from '@lancedb/lancedb';
import type { Schema } from 'apache-arrow';
import type { LanceDbLibrary } from './library.ts';
import { KEY_COLUMN } from './schema.ts';

/** LanceDB's own "create unless it is there" also refuses a table whose metadata differ, before we could say what differs. */
export async function openOrCreate(connection: Connection, name: string, schema: Schema): Promise<Table> {
  const there = await openIfThere(connection, name);
  if (there !== undefined) return there;
  try {
    return await connection.createEmptyTable(name, schema);
  } catch (error) {
    // Another worker may have made it in between.
    return connection.openTable(name).catch(() => Promise.reject(error));
  }
}

export async function openIfThere(connection: Connection, name: string): Promise<Table | undefined> {
  const isThere = (await connection.tableNames({ limit: 1_000_000 })).includes(name);
  return isThere ? connection.openTable(name) : undefined;
}

/** How a search of the vectors is done, in words. */
export async function searchIndex(table: Table): Promise<string> {
  const index = (await table.listIndices()).find(({ columns }) => columns.includes('vector'));
  return index === undefined ? 'exact scan of all rows' : `${index.indexType} index "${index.name}"`;
}

/** Without an index each write would scan all ids: a price that grows with the table. */
export async function ensureKeyIndex(lancedb: LanceDbLibrary, table: Table): Promise<void> {
  const indexed = (await table.listIndices()).some(
    (index) => index.columns.length === 1 && index.columns[0] === KEY_COLUMN,
  );
  if (!indexed) await table.createIndex(KEY_COLUMN, { config: lancedb.Index.btree() });
}
