/** pgvector in the server: there, or brought in where the user may, else an error that says who must do what. */
import { ServingError } from '../../errors.ts';
import type { Query, Row } from './connection.ts';
import { errorLabel } from './errors.ts';
import type { PgElement } from './options.ts';
import type { ElementType } from './schema.ts';

/** States of CREATE EXTENSION where the server's machine does not have its files: differs from release to release. */
const NOT_INSTALLED = new Set(['58P01', '0A000', '22023']);

export async function findElementType(query: Query, element: PgElement, server: string): Promise<ElementType> {
  const [facts] = await query("SELECT current_setting('server_encoding') AS encoding");
  if (facts?.encoding !== 'UTF8') {
    throw new ServingError(
      'CONFIG_INVALID',
      `the database of PostgreSQL at ${server} has encoding ${facts?.encoding}, in which not every text can be stored: name a UTF8 database in RAG_SERVING_PGVECTOR_URL`,
    );
  }
  const extension = (await lookUp(query, element)) ?? (await bringIn(query, element, server));
  if (extension.oid !== null) {
    return { element, extensionSchema: extension.extension_schema as string, oid: Number(extension.oid) };
  }
  throw new ServingError(
    'CONFIG_INVALID',
    `pgvector ${extension.version} of PostgreSQL at ${server} has no type ${element}, which came with 0.7: run ALTER EXTENSION vector UPDATE, or set RAG_SERVING_PGVECTOR_TYPE=vector`,
  );
}

/** Brings nothing in; undefined where the database has no such type. */
export async function lookUpElementType(query: Query, element: PgElement): Promise<ElementType | undefined> {
  const found = await lookUp(query, element);
  if (found === undefined || found.oid === null) return undefined;
  return { element, extensionSchema: found.extension_schema as string, oid: Number(found.oid) };
}

async function lookUp(query: Query, element: PgElement): Promise<Row | undefined> {
  const [found] = await query(
    'SELECT e.extversion AS version, n.nspname AS extension_schema, t.oid::int8 AS oid FROM pg_extension e ' +
      'JOIN pg_namespace n ON n.oid = e.extnamespace ' +
      "LEFT JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = $1 WHERE e.extname = 'vector'",
    [element],
  );
  return found;
}

async function bringIn(query: Query, element: PgElement, server: string): Promise<Row> {
  try {
    await query('CREATE EXTENSION IF NOT EXISTS vector');
  } catch (error) {
    const state = errorLabel(error);
    const options = { cause: new Error(state) };
    if (state === '42501') {
      throw new ServingError(
        'SINK_ACCESS_DENIED',
        `PostgreSQL at ${server}: the user may not create the extension pgvector. Let a superuser run: CREATE EXTENSION vector;`,
        options,
      );
    }
    if (!NOT_INSTALLED.has(state)) throw error;
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `PostgreSQL at ${server} has no pgvector: install it on the server's machine (package postgresql-NN-pgvector), or choose another RAG_SERVING_SINK`,
      options,
    );
  }
  return (await lookUp(query, element)) as Row;
}
