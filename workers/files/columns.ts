/** Which column is what of a chunk, and a row of a table as a chunk message. Pure. */
import { ServingError } from '../../src/errors.ts';
import type { JsonObject, JsonValue } from '../../src/records/chunk.ts';
import { encode, needsIds, withIds } from './message.ts';

export type ColumnNames = {
  readonly id: string;
  readonly text: string;
  readonly document: string;
  readonly tenant: string;
  readonly version: string;
  /** Columns that become metadata; `all` are those that are nothing else. */
  readonly metadata: readonly string[] | 'all';
};

export const contractNames: ColumnNames = {
  id: 'chunk_id',
  text: 'text',
  document: 'document_id',
  tenant: 'tenant_id',
  version: 'version',
  metadata: [],
};

export type Cell = unknown;

/** Throws ARGUMENT_INVALID, which names the columns that are there. */
export function requireColumns(columns: readonly string[], names: ColumnNames, where: string): void {
  const asked: (readonly [string, string])[] = [
    [names.text, '--text-column'],
    ...(names.id === contractNames.id ? [] : [[names.id, '--id-column'] as const]),
    ...(names.document === contractNames.document ? [] : [[names.document, '--document-column'] as const]),
    ...(names.metadata === 'all' ? [] : names.metadata.map((name) => [name, '--metadata-columns'] as const)),
  ];
  const missing = asked.find(([name]) => !columns.includes(name));
  if (missing === undefined) return;
  throw new ServingError(
    'ARGUMENT_INVALID',
    `${where}: no column ${missing[0]}; name it with ${missing[1]}; there are ${columns.slice(0, 20).join(', ')}`,
  );
}

/** An empty cell is an absent field, but for the text: that is blank then, and the decoder says so. */
export function rowMessage(
  row: ReadonlyMap<string, Cell>,
  names: ColumnNames,
  file: string,
  place: number,
): Uint8Array {
  const message: Record<string, JsonValue> = {};
  const put = (field: string, value: JsonValue | undefined) => {
    if (value !== undefined && value !== '' && value !== null) message[field] = value;
  };
  put('chunk_id', idOf(row.get(names.id)));
  put('document_id', idOf(row.get(names.document)));
  put('tenant_id', idOf(row.get(names.tenant)));
  put('version', numberOf(row.get(names.version)));
  message.text = jsonOf(row.get(names.text)) ?? null;
  const metadata = metadataOf(row, names);
  if (metadata !== undefined) message.metadata = metadata;
  return encode(needsIds(message) ? withIds(message, file, place) : message);
}

function metadataOf(row: ReadonlyMap<string, Cell>, names: ColumnNames): JsonObject | undefined {
  const own = new Set([names.id, names.text, names.document, names.tenant, names.version]);
  const wanted = names.metadata === 'all' ? [...row.keys()].filter((name) => !own.has(name)) : names.metadata;
  const entries = wanted
    .map((name) => [name, jsonOf(row.get(name))] as const)
    .filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined && entry[1] !== '');
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** A whole number of a table is exact, unlike one of JSON; a fraction stays what it is and is rejected as an id. */
function idOf(value: Cell): JsonValue | undefined {
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : jsonOf(value);
}

function numberOf(value: Cell): JsonValue | undefined {
  return typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : jsonOf(value);
}

function jsonOf(value: Cell): JsonValue | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (value instanceof Uint8Array) return undefined;
  if (Array.isArray(value)) return value.map((one) => jsonOf(one) ?? null);
  if (typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, jsonOf(one) ?? null]));
  return value as JsonValue;
}
