/**
 * JSON Schemas: the body is JSON and is read as any other; the schema only says which fields there are.
 *
 * Values are not checked against it. The message rules judge them, and whether a producer keeps its own promises is for
 * producers and their registry to say, as it is for Confluent's consumers unless they ask for more.
 */
import { isObject } from '../kafka/chunk-schema.ts';
import { readJson } from '../kafka/json-value.ts';
import type { FieldKind, RegisteredSchema, ValueCodec } from './codec.ts';

const KINDS: ReadonlySet<string> = new Set(['string', 'integer', 'number', 'boolean', 'object', 'array']);
const MAX_HOPS = 16;

/** Throws for what is no JSON or no schema. */
export function jsonSchemaCodec({ text }: RegisteredSchema): ValueCodec {
  const root: unknown = JSON.parse(text);
  if (!isObject(root) && typeof root !== 'boolean') throw new Error('a JSON Schema is an object or a boolean');
  const properties = propertiesOf(root);
  return {
    format: 'json-schema',
    fields:
      properties && new Map(Object.entries(properties).map(([name, schema]) => [name, kindOf(resolved(schema, root))])),
    decode: readJson,
    encode: (value) => Buffer.from(JSON.stringify(value), 'utf8'),
  };
}

/** Undefined where fields may come from elsewhere. */
function propertiesOf(root: unknown): Record<string, unknown> | undefined {
  const schema = resolved(root, root);
  if (!isObject(schema) || !isObject(schema.properties)) return undefined;
  return ['allOf', 'anyOf', 'oneOf', 'patternProperties'].some((word) => word in schema)
    ? undefined
    : schema.properties;
}

/** Follows references within the file; another file's schema stays unknown. */
function resolved(schema: unknown, root: unknown): unknown {
  let at = schema;
  for (let hop = 0; hop < MAX_HOPS && isObject(at) && typeof at.$ref === 'string'; hop++) {
    if (!at.$ref.startsWith('#')) return undefined;
    at = at.$ref
      .slice(1)
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((holder, part) => (isObject(holder) ? holder[part] : undefined), root);
  }
  return at;
}

function kindOf(schema: unknown): FieldKind {
  if (!isObject(schema)) return 'any';
  const named = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((name) => name !== 'null');
  const [only] = named;
  return named.length === 1 && typeof only === 'string' && KINDS.has(only) ? (only as FieldKind) : 'any';
}
