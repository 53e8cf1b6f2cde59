/**
 * Opening a collection: made when it is not there and the user may, else checked, and what is wrong told with the SQL
 * that mends it. One transaction under a lock of the schema, so that workers that start together make it once.
 *
 * Surprising: a user without the right to create anything can open a collection that is there. Nothing is created, not
 * even an index on the vectors, once there are tables; an index is the owner's decision (index-advice.ts).
 */
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import { type CollectionContract, contractMismatch, type ReadContract, readContract } from '../contract-check.ts';
import type { PgConnection, Query, Row } from './connection.ts';
import { errorLabel } from './errors.ts';
import { findElementType, lookUpElementType } from './extension.ts';
import type { PgNames } from './names.ts';
import type { PgElement, ResolvedPgVectorOptions } from './options.ts';
import { columnProblems, createStatements, type ElementType, MAX_DIMS, typeName } from './schema.ts';

export type OpenedCollection = {
  readonly type: ElementType;
  readonly isNew: boolean;
  /** As the server estimates. */
  readonly rows: number;
  /** Access methods of the indexes on the vectors: hnsw, ivfflat. */
  readonly vectorIndexes: readonly string[];
};

export type CollectionParts = {
  readonly connection: PgConnection;
  readonly names: PgNames;
  readonly options: ResolvedPgVectorOptions;
};

export const SETTING = 'RAG_SERVING_PGVECTOR_TABLE';

export function openCollection(parts: CollectionParts, contract: VectorContract): Promise<OpenedCollection> {
  const { connection, names, options } = parts;
  if (contract.dims > MAX_DIMS) {
    throw new ServingError(
      'SINK_SCHEMA_MISMATCH',
      `model ${contract.modelName} gives ${contract.dims} dims; pgvector holds at most ${MAX_DIMS}: choose another model or store`,
    );
  }
  const element = options.element ?? (contract.dtype === 'FP16' ? 'halfvec' : 'vector');
  return connection.session('exclusive', `rag-serving schema ${names.schema}`, async (query) => {
    const type = await findElementType(query, element, connection.server);
    const isNew = await createWhatIsMissing(query, parts, type, contract.dims);
    await claim(query, parts, type, contract);
    await checkColumns(query, parts, type, contract.dims);
    await checkRights(query, parts);
    return { type, isNew, ...(await factsOf(query, names)) };
  });
}

export type FoundCollection = {
  readonly type: ElementType;
  readonly contract: ReadContract;
  readonly vectorIndexes: readonly string[];
};

/** Looks at a collection without making or locking anything; undefined when its table is not there. */
export function findCollection({ connection, names }: CollectionParts): Promise<FoundCollection | undefined> {
  const collection = collectionName(connection, names);
  return connection.session('none', undefined, async (query) => {
    const [there] = await query(
      'SELECT to_regclass($1) IS NOT NULL AS has_rows, to_regclass($2) IS NOT NULL AS has_contract',
      [names.table, names.collections],
    );
    if (there?.has_rows !== true) return undefined;
    const stored = there.has_contract === true ? await readClaim(query, names) : undefined;
    const contract = stored && readContract(stored);
    if (stored === undefined || contract === undefined) throw notOurs(collection, 'no worker of this version made it');
    const type = await lookUpElementType(query, stored.element);
    if (type === undefined) throw notOurs(collection, `its database has no type ${stored.element}`);
    await checkColumns(query, { connection, names }, type, contract.dims);
    const { vectorIndexes } = await factsOf(query, names);
    return { type, contract, vectorIndexes };
  });
}

async function createWhatIsMissing(
  query: Query,
  parts: CollectionParts,
  type: ElementType,
  dims: number,
): Promise<boolean> {
  const { connection, names } = parts;
  const tables = [names.table, names.tombstones, names.collections];
  const [found] = await query(
    `SELECT ${tables.map((_, index) => `to_regclass($${index + 1}) IS NOT NULL AS t${index}`).join(', ')}`,
    tables,
  );
  const isNew = found?.t0 !== true;
  if (!isNew && found?.t1 === true && found.t2 === true) return false;
  // Before anything is put beside a table of somebody else.
  if (!isNew) await checkColumns(query, parts, type, dims);
  const statements = createStatements(names, typeName(type), dims);
  try {
    for (const statement of statements) await query(statement);
  } catch (error) {
    if (errorLabel(error) !== '42501') throw error;
    throw new ServingError(
      'SINK_ACCESS_DENIED',
      `PostgreSQL at ${connection.server}: the user may not create the tables of the collection. Let one who may run: ${[...statements, ...grants(names)].join('; ')};`,
      { cause: new Error('42501') },
    );
  }
  return isNew;
}

/** The first worker writes down what the collection holds; each later one compares. */
async function claim(
  query: Query,
  { connection, names, options }: CollectionParts,
  { element }: ElementType,
  contract: VectorContract,
): Promise<void> {
  const collection = collectionName(connection, names);
  let stored = await readClaim(query, names);
  if (stored === undefined) {
    const [someone] = await query(`SELECT EXISTS (SELECT FROM ${names.table}) AS has_rows`);
    if (someone?.has_rows === true) throw notOurs(collection, 'it has rows that no worker wrote');
    const { fingerprint, dims, dtype } = contract;
    await query(
      `INSERT INTO ${names.collections} (table_name, fingerprint, dims, dtype, element) VALUES ($1, $2, $3, $4, $5)`,
      [names.plainTable, fingerprint, dims, dtype, element],
    );
    stored = await readClaim(query, names);
  }
  const holds = stored as Claim;
  const mismatch = contractMismatch(holds, contract, { collection, setting: SETTING }, options.allowMixedFingerprints);
  if (mismatch !== undefined) throw mismatch;
  if (holds.element !== element) {
    throw new ServingError(
      'SINK_SCHEMA_MISMATCH',
      `${collection} keeps vectors as ${holds.element}, this worker would write ${element}: set RAG_SERVING_PGVECTOR_TYPE=${holds.element} or a new ${SETTING}`,
    );
  }
}

type Claim = CollectionContract & { readonly element: PgElement };

async function readClaim(query: Query, names: PgNames): Promise<Claim | undefined> {
  const [stored] = await query(
    `SELECT fingerprint, dims, dtype, element FROM ${names.collections} WHERE table_name = $1`,
    [names.plainTable],
  );
  return stored as Claim | undefined;
}

export function collectionName({ server }: PgConnection, { table }: PgNames): string {
  return `PostgreSQL table ${table} at ${server}`;
}

async function checkColumns(
  query: Query,
  { connection, names }: Pick<CollectionParts, 'connection' | 'names'>,
  { element }: ElementType,
  dims: number,
): Promise<void> {
  const found = await query(
    'SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AND NOT atthasdef AS required ' +
      'FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped',
    [names.table],
  );
  const problems = columnProblems(
    found.map(({ name, type, required }) => ({
      name: name as string,
      type: type as string,
      required: required as boolean,
    })),
    element,
    dims,
  );
  if (problems.length === 0) return;
  throw notOurs(collectionName(connection, names), problems.join(', '));
}

async function checkRights(query: Query, { connection, names }: CollectionParts): Promise<void> {
  const [rights] = await query(
    `SELECT bool_and(has_table_privilege(t, p)) AS all_rights FROM unnest($1::text[]) AS t, unnest($2::text[]) AS p`,
    [
      [names.table, names.tombstones],
      ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
    ],
  );
  if (rights?.all_rights === true) return;
  throw new ServingError(
    'SINK_ACCESS_DENIED',
    `PostgreSQL at ${connection.server}: the user may not read and change ${names.table}. Let its owner run: ${grants(names).join('; ')};`,
  );
}

async function factsOf(query: Query, names: PgNames): Promise<Pick<OpenedCollection, 'rows' | 'vectorIndexes'>> {
  const [size] = await query('SELECT reltuples::float8 AS rows FROM pg_class WHERE oid = to_regclass($1)', [
    names.table,
  ]);
  const indexes = await query(
    'SELECT DISTINCT am.amname AS method FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam ' +
      "WHERE i.indrelid = to_regclass($1) AND am.amname IN ('hnsw', 'ivfflat')",
    [names.table],
  );
  // -1 before the first vacuum or analyze.
  return {
    rows: Math.max(0, (size as Row).rows as number),
    vectorIndexes: indexes.map(({ method }) => method as string),
  };
}

function grants({ table, tombstones, collections }: PgNames): readonly string[] {
  return [
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table}, ${tombstones} TO <user>`,
    `GRANT SELECT, INSERT ON ${collections} TO <user>`,
  ];
}

function notOurs(collection: string, why: string): ServingError {
  return new ServingError(
    'SINK_SCHEMA_MISMATCH',
    `${collection} cannot be used: ${why}. Name another one in ${SETTING}, or mend it`,
  );
}
