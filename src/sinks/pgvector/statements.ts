/** The SQL of a collection, made once when it is opened. Data only ever travels as parameters. */
import type { PgNames } from './names.ts';
import { COLUMN_NAMES, type ElementType, typeName } from './schema.ts';

export type Statements = {
  /** The parameters of `writeParameters`; answers the chunk ids that went in. */
  readonly write: string;
  /** $1 ids. */
  readonly fetch: string;
  /** $1 the id before, $2 limit. */
  readonly scan: string;
  /** $1 vector, $2 limit, $3 tenant or null for all. */
  readonly search: string;
  readonly count: string;
  /** $1 ids of chunks, $2 ids of documents. */
  readonly keysNamed: string;
  /** $1 ids, $2 oldest time that counts. */
  readonly marks: string;
  /** $1 ids. */
  readonly removeRows: string;
  /** $1 scopes, $2 ids, $3 topics, $4 partitions, $5 offsets, $6 time. */
  readonly mark: string;
  /** $1 oldest time that counts, $2 how many at most. */
  readonly forget: string;
};

/** In the order of the parameters; the type is that of an element. */
export const WRITE_COLUMNS = [
  ['chunk_id', 'text'],
  ['document_id', 'text'],
  ['tenant_id', 'text'],
  ['text_sha256', 'text'],
  ['text', 'text'],
  ['truncated', 'bool'],
  ['metadata', 'text'],
  ['source_topic', 'text'],
  ['source_partition', 'int4'],
  ['source_offset', 'int8'],
  ['version', 'int8'],
  ['embedded_at_ms', 'int8'],
] as const;

export function statementsOf(names: PgNames, type: ElementType): Statements {
  const { table, tombstones } = names;
  const operator = `OPERATOR("${type.extensionSchema.replaceAll('"', '""')}".<=>)`;
  const vector = typeName(type);
  return {
    write: writeStatement(names, vector),
    fetch: `SELECT ${STORED}, ${sendFunction(type)}(vector) AS vector FROM ${table} WHERE chunk_id = ANY($1::text[])`,
    scan: `SELECT ${STORED}, ${sendFunction(type)}(vector) AS vector FROM ${table} WHERE chunk_id > $1::text ORDER BY chunk_id LIMIT $2`,
    search:
      `SELECT chunk_id, document_id, tenant_id, text, metadata::text AS metadata, 1 - (vector ${operator} $1::${vector}) AS score ` +
      `FROM ${table} WHERE $3::text IS NULL OR tenant_id = $3::text ORDER BY vector ${operator} $1::${vector} LIMIT $2`,
    count: `SELECT count(*) AS count FROM ${table}`,
    keysNamed:
      'SELECT chunk_id, document_id, source_topic, source_partition, source_offset, version ' +
      `FROM ${table} WHERE chunk_id = ANY($1::text[]) OR document_id = ANY($2::text[])`,
    marks:
      'SELECT scope, id, source_topic, source_partition, source_offset, deleted_at_ms ' +
      `FROM ${tombstones} WHERE id = ANY($1::text[]) AND deleted_at_ms > $2::int8`,
    removeRows: `DELETE FROM ${table} WHERE chunk_id = ANY($1::text[])`,
    mark:
      `INSERT INTO ${tombstones} AS known (scope, id, source_topic, source_partition, source_offset, deleted_at_ms) ` +
      'SELECT scope, id, source_topic, source_partition, max(source_offset), $6::int8 ' +
      'FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::int8[]) ' +
      'AS mark (scope, id, source_topic, source_partition, source_offset) GROUP BY 1, 2, 3, 4 ' +
      'ON CONFLICT (id, scope, source_topic, source_partition) DO UPDATE SET ' +
      'source_offset = greatest(known.source_offset, excluded.source_offset), ' +
      'deleted_at_ms = greatest(known.deleted_at_ms, excluded.deleted_at_ms)',
    forget:
      `DELETE FROM ${tombstones} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${tombstones} ` +
      'WHERE deleted_at_ms <= $1::int8 LIMIT $2))',
  };
}

const STORED =
  'chunk_id, document_id, tenant_id, fingerprint, text_sha256, text, truncated, metadata::text AS metadata, ' +
  'source_topic, source_partition, source_offset, version, ' +
  '(extract(epoch FROM embedded_at) * 1000)::int8 AS embedded_at_ms';

function sendFunction({ element, extensionSchema }: ElementType): string {
  return `"${extensionSchema.replaceAll('"', '""')}".${element}_send`;
}

/**
 * Parameters: an array for each of WRITE_COLUMNS, the vectors, the fingerprint, the oldest time of a tombstone that counts.
 * No chunk id twice: a statement cannot change a row a second time. Rows go in by id, so that two calls about the same
 * rows wait for each other instead of ending in a deadlock.
 */
function writeStatement({ table, tombstones }: PgNames, vectorType: string): string {
  const arrays = WRITE_COLUMNS.map(([, type], index) => `$${index + 1}::${type}[]`);
  const at = WRITE_COLUMNS.length;
  const [vectors, fingerprint, oldest] = [`$${at + 1}::${vectorType}[]`, `$${at + 2}::text`, `$${at + 3}::int8`];
  const columns = WRITE_COLUMNS.map(([name]) => name);
  const covered = (scope: string, id: string, comparison: string) =>
    `NOT EXISTS (SELECT FROM ${tombstones} AS t WHERE t.scope = '${scope}' AND t.id = row.${id} ` +
    'AND t.source_topic = row.source_topic AND t.source_partition = row.source_partition ' +
    `AND t.source_offset ${comparison} row.source_offset AND t.deleted_at_ms > ${oldest})`;
  const values: Readonly<Record<string, string>> = {
    fingerprint,
    metadata: 'row.metadata::jsonb',
    embedded_at: `timestamptz 'epoch' + row.embedded_at_ms * interval '1 millisecond'`,
  };
  const changed = COLUMN_NAMES.filter((name) => name !== 'chunk_id').map((name) => `${name} = excluded.${name}`);
  return [
    `INSERT INTO ${table} AS stored (${COLUMN_NAMES.join(', ')})`,
    `SELECT ${COLUMN_NAMES.map((name) => values[name] ?? `row.${name}`).join(', ')}`,
    `FROM unnest(${[...arrays, vectors].join(', ')}) AS row (${[...columns, 'vector'].join(', ')})`,
    // These repeat `Tombstones.covers`.
    `WHERE ${covered('row', 'chunk_id', '>=')}`,
    `AND ${covered('chunk', 'chunk_id', '>')}`,
    `AND ${covered('document', 'document_id', '>')}`,
    'ORDER BY row.chunk_id COLLATE "C"',
    `ON CONFLICT (chunk_id) DO UPDATE SET ${changed.join(', ')}`,
    `WHERE ${IS_NEWER}`,
    'RETURNING chunk_id',
  ].join(' ');
}

/** `isNewerRevision`, judged by the server against the row as it is then. */
const IS_NEWER =
  'CASE WHEN excluded.version <> stored.version THEN excluded.version > stored.version ' +
  'WHEN excluded.source_topic = stored.source_topic AND excluded.source_partition = stored.source_partition ' +
  'THEN excluded.source_offset >= stored.source_offset ELSE true END';
