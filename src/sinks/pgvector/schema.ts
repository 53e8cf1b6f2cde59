/** The tables of a collection as SQL, and whether a table that is there has its columns. Pure. */
import { type PgNames, quoted } from './names.ts';
import type { PgElement } from './options.ts';

/** The vector column's type as it is written in SQL, with the schema that the extension is in. */
export type ElementType = {
  readonly element: PgElement;
  /** Of one vector, and of the operators on it. */
  readonly extensionSchema: string;
  readonly oid: number;
};

/** More than pgvector holds in one value of either type. */
export const MAX_DIMS = 16_000;

/** What an index can hold: HNSW and IVFFlat alike. */
export const MAX_INDEXED_DIMS: Readonly<Record<PgElement, number>> = { vector: 2_000, halfvec: 4_000 };

export function typeName({ element, extensionSchema }: Pick<ElementType, 'element' | 'extensionSchema'>): string {
  return `${quoted(extensionSchema)}.${element}`;
}

/** Byte order for ids: comparisons are exact, and the index is small and fast. */
const ID = 'text COLLATE "C"';

const COLUMNS: readonly (readonly [name: string, sql: string, type: string])[] = [
  ['chunk_id', `${ID} PRIMARY KEY`, 'text'],
  ['document_id', `${ID} NOT NULL`, 'text'],
  ['tenant_id', 'text', 'text'],
  ['fingerprint', 'text NOT NULL', 'text'],
  ['text_sha256', 'text NOT NULL', 'text'],
  ['text', 'text', 'text'],
  ['truncated', 'boolean NOT NULL', 'boolean'],
  ['metadata', 'jsonb', 'jsonb'],
  ['source_topic', `${ID} NOT NULL`, 'text'],
  ['source_partition', 'integer NOT NULL', 'integer'],
  ['source_offset', 'bigint NOT NULL', 'bigint'],
  ['version', 'bigint', 'bigint'],
  ['embedded_at', 'timestamptz NOT NULL', 'timestamp with time zone'],
];

export const COLUMN_NAMES = [...COLUMNS.map(([name]) => name), 'vector'];

/** One statement each; all may be run again. */
export function createStatements(names: PgNames, type: string, dims: number): readonly string[] {
  const columns = COLUMNS.map(([name, sql]) => `${name} ${sql}`);
  return [
    `CREATE TABLE IF NOT EXISTS ${names.collections} (table_name ${ID} PRIMARY KEY, fingerprint text NOT NULL, ` +
      'dims integer NOT NULL, dtype text NOT NULL, element text NOT NULL, created_at timestamptz NOT NULL DEFAULT now())',
    `CREATE TABLE IF NOT EXISTS ${names.table} (${columns.join(', ')}, vector ${type}(${dims}) NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS ${names.documentIndex} ON ${names.table} (document_id)`,
    `CREATE TABLE IF NOT EXISTS ${names.tombstones} (scope text NOT NULL, id ${ID} NOT NULL, source_topic ${ID} NOT NULL, ` +
      'source_partition integer NOT NULL, source_offset bigint NOT NULL, deleted_at_ms bigint NOT NULL, ' +
      'PRIMARY KEY (id, scope, source_topic, source_partition))',
    `CREATE INDEX IF NOT EXISTS ${names.tombstoneIndex} ON ${names.tombstones} (deleted_at_ms)`,
  ];
}

export type FoundColumn = { readonly name: string; readonly type: string; readonly required: boolean };

/** What is wrong with the columns of a table, for people; empty for one that can be used. Further columns are fine if they may be empty. */
export function columnProblems(found: readonly FoundColumn[], element: PgElement, dims: number): string[] {
  const byName = new Map(found.map((column) => [column.name, column]));
  const expected = [
    ...COLUMNS.map(([name, , type]) => [name, type] as const),
    ['vector', `${element}(${dims})`] as const,
  ];
  const problems = expected.flatMap(([name, type]) => {
    const column = byName.get(name);
    if (column === undefined) return [`${name} is missing`];
    // Written with its schema when that is not on the search path.
    const isRight = column.type === type || column.type.endsWith(`.${type}`) || column.type.endsWith(`".${type}`);
    return isRight ? [] : [`${name} is ${column.type} instead of ${type}`];
  });
  const ours = new Set(COLUMN_NAMES);
  const foreign = found.filter(({ name, required }) => required && !ours.has(name));
  return [...problems, ...foreign.map(({ name }) => `${name} must have a value that a worker does not know`)];
}
