/**
 * Messages of protobufjs as plain objects and back, by their types. Field names are those of the .proto file.
 *
 * A field that is not on the wire is absent here, as in JSON: proto3 does not tell 0 and "" from nothing, and a version or
 * tenant that nobody set must not become one. A default that a proto2 file declares does count.
 */
import protobuf from 'protobufjs';
import { isObject } from '../kafka/chunk-schema.ts';
import { bytesValue, type FieldKind, type Role, roleOfField } from './codec.ts';
import { undecodable } from './faults.ts';
import { exactInteger, isWide, knownMessage } from './protobuf-known.ts';

const WIDE = /^(u?int64|sint64|s?fixed64)$/;

export function plainMessage(type: protobuf.Type, message: Readonly<Record<string, unknown>>, role: Role): unknown {
  const known = knownMessage(type);
  if (known !== undefined) return known.read(message);
  const plain: Record<string, unknown> = {};
  for (const field of type.fieldsArray) {
    const { name } = field;
    const value = Object.hasOwn(message, name) ? message[name] : declaredDefault(field);
    if (value !== undefined && !isEmptyList(field, value))
      plain[name] = plainField(field, value, roleOfField(name, role));
  }
  return plain;
}

/** protobufjs makes lists and maps that were not on the wire; an empty list of chunks would make a batch of a chunk. */
function isEmptyList(field: protobuf.Field, value: unknown): boolean {
  return (field.repeated || field.map) && Object.keys(value as object).length === 0;
}

function plainField(field: protobuf.Field, value: unknown, role: Role): unknown {
  if (field instanceof protobuf.MapField) {
    const named = (key: string) => (WIDE.test(field.keyType) ? protobuf.util.longFromHash(key, false).toString() : key);
    return Object.fromEntries(
      Object.entries(value as object).map(([key, held]) => [named(key), plainValue(field, held, 'plain')]),
    );
  }
  return field.repeated
    ? (value as unknown[]).map((held) => plainValue(field, held, role))
    : plainValue(field, value, role);
}

function plainValue({ resolvedType }: protobuf.Field, value: unknown, role: Role): unknown {
  if (resolvedType instanceof protobuf.Type) return plainMessage(resolvedType, value as Record<string, unknown>, role);
  if (resolvedType instanceof protobuf.Enum) return resolvedType.valuesById[value as number] ?? value;
  if (value instanceof Uint8Array) return bytesValue(value, role);
  if (isWide(value)) return exactInteger(value);
  return typeof value === 'number' && !Number.isFinite(value) ? null : value;
}

function declaredDefault({ options, defaultValue, repeated }: protobuf.Field): unknown {
  return !repeated && options?.default !== undefined ? defaultValue : undefined;
}

/** What protobufjs's `fromObject` takes. Throws VALUE_UNDECODABLE for a field that the type does not have. */
export function wireMessage(type: protobuf.Type, value: unknown, path: readonly string[] = []): object {
  const known = knownMessage(type);
  if (known !== undefined) return known.write(value);
  if (!isObject(value)) throw undecodable(`${path.join('.')}: a message was expected`);
  const entries = Object.entries(value).filter(([, held]) => held !== null && held !== undefined);
  return Object.fromEntries(
    entries.map(([name, held]) => {
      const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
      const at = [...path, name];
      if (field === undefined) throw undecodable(`${at.join('.')} is no field of message ${type.name}`);
      return [name, wireField(field, held, at)];
    }),
  );
}

function wireField(field: protobuf.Field, value: unknown, path: readonly string[]): unknown {
  const { resolvedType } = field;
  const one = (held: unknown) => (resolvedType instanceof protobuf.Type ? wireMessage(resolvedType, held, path) : held);
  if (field instanceof protobuf.MapField) {
    if (!isObject(value)) throw undecodable(`${path.join('.')}: a map was expected`);
    return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, one(held)]));
  }
  return field.repeated && Array.isArray(value) ? value.map(one) : one(value);
}

export function kindOfField(field: protobuf.Field): FieldKind {
  if (field instanceof protobuf.MapField) return 'object';
  if (field.repeated) return 'array';
  if (field.resolvedType instanceof protobuf.Enum) return 'string';
  if (field.resolvedType instanceof protobuf.Type) return kindOfMessage(field.resolvedType);
  if (/^(u?int|sint|s?fixed)(32|64)$/.test(field.type)) return 'integer';
  switch (field.type) {
    case 'string':
      return 'string';
    case 'bool':
      return 'boolean';
    case 'bytes':
      return 'bytes';
    default:
      return 'number';
  }
}

function kindOfMessage(type: protobuf.Type): FieldKind {
  if (knownMessage(type) === undefined || type.name === 'Struct') return 'object';
  const kinds: Readonly<Record<string, FieldKind>> = {
    StringValue: 'string',
    Timestamp: 'string',
    BoolValue: 'boolean',
    Int32Value: 'integer',
    UInt32Value: 'integer',
    Int64Value: 'integer',
    UInt64Value: 'integer',
    ListValue: 'array',
  };
  return kinds[type.name] ?? (type.name === 'Value' ? 'any' : 'number');
}
