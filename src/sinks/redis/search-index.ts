/**
 * The vector index over a collection: its definition, whether one that is there serves it, and its queries. Pure.
 *
 * The commands are those of RediSearch, which Redis 8 brings with it and Redis 7 has as a module. Only what all of its
 * releases answer alike is read. Surprising: a tag with a comma would be two tags, and case would be lost, unless the
 * index is told otherwise.
 */
import type { redisIndexes } from '../../config/sections/sink.ts';
import { ServingError } from '../../errors.ts';
import type { VectorDtype } from '../../kserve/contract.ts';

export type RedisIndexKind = (typeof redisIndexes)[number];

export type IndexWanted = {
  readonly name: string;
  /** Of the keys that it covers. */
  readonly keyPrefix: string;
  readonly dims: number;
  readonly dtype: VectorDtype;
};

const METRIC = 'COSINE';
const TYPE: Readonly<Record<VectorDtype, string>> = { FP16: 'FLOAT16', FP32: 'FLOAT32' };
/** A character that no id has by accident. */
const SEPARATOR = '\u001f';

export function createArguments(wanted: IndexWanted, kind: Exclude<RedisIndexKind, 'off'>): string[] {
  const tag = (field: string) => [field, 'TAG', 'SEPARATOR', SEPARATOR, 'CASESENSITIVE'];
  const vector = ['TYPE', TYPE[wanted.dtype], 'DIM', String(wanted.dims), 'DISTANCE_METRIC', METRIC];
  return [
    ...[wanted.name, 'ON', 'HASH', 'PREFIX', '1', wanted.keyPrefix, 'SCHEMA'],
    ...tag('tenant_id'),
    ...tag('document_id'),
    ...['vector', 'VECTOR', kind.toUpperCase(), String(vector.length), ...vector],
  ];
}

export type FoundIndex = {
  readonly algorithm: string;
  readonly type: string;
  readonly dims: number;
  readonly metric: string;
  readonly prefixes: readonly string[];
  /** Whether a tenant can be asked for. */
  readonly hasTenant: boolean;
  /** Rows that were there before the index are still being read in. */
  readonly isIndexing: boolean;
};

/** What FT.INFO says; undefined where it has no field `vector` that is one. */
export function readIndex(info: unknown): FoundIndex | undefined {
  const facts = pairs(info);
  const attributes = list(facts.get('attributes')).map(pairs);
  const vector = attributes.find((one) => one.get('identifier') === 'vector' && one.get('type') === 'VECTOR');
  if (vector === undefined) return undefined;
  const definition = pairs(facts.get('index_definition'));
  return {
    algorithm: String(vector.get('algorithm')),
    type: String(vector.get('data_type')),
    dims: Number(vector.get('dim')),
    metric: String(vector.get('distance_metric')),
    prefixes: list(definition.get('prefixes')).map(String),
    hasTenant: attributes.some((one) => one.get('identifier') === 'tenant_id' && one.get('type') === 'TAG'),
    isIndexing: Number(facts.get('indexing')) !== 0,
  };
}

/** What keeps the index from serving the collection, in words; undefined when nothing does. */
export function indexProblem(found: FoundIndex | undefined, wanted: IndexWanted): string | undefined {
  if (found === undefined) return 'it has no vector field named vector';
  if (found.dims !== wanted.dims) return `its dims are ${found.dims} instead of ${wanted.dims}`;
  const type = TYPE[wanted.dtype];
  if (found.type !== type) return `its type is ${found.type} instead of ${type}`;
  if (found.metric !== METRIC) return `its metric is ${found.metric} instead of ${METRIC}`;
  const covers = found.prefixes.some((prefix) => wanted.keyPrefix.startsWith(prefix));
  return covers ? undefined : `it covers the keys of ${found.prefixes.join(', ')} instead of ${wanted.keyPrefix}`;
}

export function indexMismatch(problem: string, { name }: IndexWanted, server: string): ServingError {
  return new ServingError(
    'SINK_SCHEMA_MISMATCH',
    `the vector index "${name}" of Redis at ${server} does not serve this collection: ${problem}. ` +
      `Drop it (FT.DROPINDEX ${name}, which keeps all rows) and start again, set RAG_SERVING_REDIS_INDEX=off, or name another RAG_SERVING_REDIS_KEY_PREFIX`,
  );
}

/** The keys of the nearest, best first. A tenant travels as a parameter, so nothing in it has a meaning. */
export function searchArguments(
  { name }: IndexWanted,
  blob: Buffer,
  limit: number,
  tenantId: string | undefined,
  timeoutMs: number,
): (string | Buffer)[] {
  const among = tenantId === undefined ? '*' : '(@tenant_id:{$tenant})';
  const parameters = ['vector', blob, ...(tenantId === undefined ? [] : ['tenant', tenantId])];
  return [
    ...[name, `${among}=>[KNN ${limit} @vector $vector AS distance]`],
    ...['PARAMS', String(parameters.length), ...parameters],
    ...['SORTBY', 'distance', 'LIMIT', '0', String(limit), 'NOCONTENT'],
    // Its own limit is half a second, after which it answers with a part as if that were all.
    ...['TIMEOUT', String(timeoutMs), 'DIALECT', '2'],
  ];
}

/** The answer of a search without content: how many, then the keys. */
export function foundKeys(answer: unknown): string[] {
  return list(answer).slice(1).map(String);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function pairs(value: unknown): ReadonlyMap<string, unknown> {
  const flat = list(value);
  return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name), flat[at + 1]]] : [])));
}
