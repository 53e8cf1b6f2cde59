/**
 * Values of an Avro type as plain objects: one function a type, built once a schema.
 *
 * avsc has a reader of its own, which believes every count it reads: a body of five bytes makes it fill the memory. Values
 * come without the names of union branches; logical types as the value beneath, but a decimal as a string of digits.
 */
import avro from 'avsc';
import type { AvroCursor } from './avro-cursor.ts';
import { DecimalType, decimalText } from './avro-decimal.ts';
import { bytesValue, type Role, roleOfField } from './codec.ts';
import { undecodable } from './faults.ts';

export type ReadAvro = (cursor: AvroCursor) => unknown;

type Known = Map<avro.Type, Map<Role, { read: ReadAvro | undefined }>>;

/** Throws for a type that cannot be read. */
export function avroReader(type: avro.Type, role: Role, known: Known = new Map()): ReadAvro {
  const byRole = known.get(type) ?? new Map<Role, { read: ReadAvro | undefined }>();
  known.set(type, byRole);
  const seen = byRole.get(role);
  // A type that holds itself: its reader is there by the time that a value is read.
  if (seen !== undefined) return seen.read ?? ((cursor) => seen.read?.(cursor));
  const entry: { read: ReadAvro | undefined } = { read: undefined };
  byRole.set(role, entry);
  entry.read = build(type, role, known);
  return entry.read;
}

function build(type: avro.Type, role: Role, known: Known): ReadAvro {
  const { types } = avro;
  if (type instanceof DecimalType) return decimalReader(type);
  if (type instanceof types.LogicalType) return avroReader(type.underlyingType, role, known);
  if (type instanceof types.RecordType) return recordReader(type, role, known);
  if (type instanceof types.ArrayType) return arrayReader(avroReader(type.itemsType, role, known));
  if (type instanceof types.MapType) return mapReader(avroReader(type.valuesType, 'plain', known));
  if (type instanceof types.WrappedUnionType || type instanceof types.UnwrappedUnionType) {
    return unionReader(type.types.map((branch) => avroReader(branch, role, known)));
  }
  if (type instanceof types.EnumType) return enumReader(type.symbols);
  if (type instanceof types.FixedType) {
    const { size } = type;
    return (cursor) => bytesValue(cursor.bytes(size), role);
  }
  switch (type.typeName) {
    case 'null':
      return () => null;
    case 'boolean':
      return (cursor) => flag(cursor.byte());
    case 'int':
    case 'long':
      return (cursor) => cursor.long();
    case 'float':
      return (cursor) => cursor.float();
    case 'double':
      return (cursor) => cursor.double();
    case 'bytes':
      return (cursor) => bytesValue(cursor.bytes(cursor.count()), role);
    case 'string':
      return (cursor) => cursor.text();
    default:
      throw new Error(`type ${type.typeName} is not known`);
  }
}

function recordReader(type: avro.types.RecordType, role: Role, known: Known): ReadAvro {
  const fields = type.fields.map(({ name, type: held }) => {
    if (name === '__proto__') throw new Error('a field is named __proto__');
    return { name, read: avroReader(held, roleOfField(name, role), known) };
  });
  return (cursor) => {
    const record: Record<string, unknown> = {};
    for (const { name, read } of fields) {
      const value = read(cursor);
      // An Avro record always has all its fields: of one that can be a chunk or a batch, the others are null.
      if (value !== null || role !== 'message') record[name] = value;
    }
    return record;
  };
}

function arrayReader(read: ReadAvro): ReadAvro {
  return (cursor) => {
    const items: unknown[] = [];
    for (let left = cursor.block(); left > 0; left = cursor.block()) {
      for (; left > 0; left--) items.push(read(cursor));
    }
    return items;
  };
}

/** A key is the sender's choice, `__proto__` included: entries become own properties. */
function mapReader(read: ReadAvro): ReadAvro {
  return (cursor) => {
    const entries: [string, unknown][] = [];
    for (let left = cursor.block(); left > 0; left = cursor.block()) {
      for (; left > 0; left--) entries.push([cursor.text(), read(cursor)]);
    }
    return Object.fromEntries(entries);
  };
}

function unionReader(branches: readonly ReadAvro[]): ReadAvro {
  return (cursor) => {
    const read = branches[cursor.count()];
    if (read === undefined) throw undecodable('names a branch of a union that there is not');
    return read(cursor);
  };
}

function enumReader(symbols: readonly string[]): ReadAvro {
  return (cursor) => {
    const symbol = symbols[cursor.count()];
    if (symbol === undefined) throw undecodable('names a symbol of an enum that there is not');
    return symbol;
  };
}

function decimalReader({ underlyingType, scale }: DecimalType): ReadAvro {
  const size = underlyingType instanceof avro.types.FixedType ? underlyingType.size : undefined;
  return (cursor) => decimalText(cursor.bytes(size ?? cursor.count()), scale);
}

function flag(byte: number): boolean {
  if (byte > 1) throw undecodable('holds a boolean that is neither 0 nor 1');
  return byte === 1;
}
