/** Avro schemas: parsed and written by avsc, read by our own bounded reader. */
import avro from 'avsc';
import { asServingError, isServingError } from '../errors.ts';
import { AvroCursor } from './avro-cursor.ts';
import { DecimalType } from './avro-decimal.ts';
import { avroReader } from './avro-reader.ts';
import type { FieldKind, RegisteredSchema, ValueCodec } from './codec.ts';
import { undecodable } from './faults.ts';

/** Throws what avsc throws of a schema that it does not take. */
export function avroCodec({ text, references }: RegisteredSchema): ValueCodec {
  const registry: Record<string, avro.Type> = {};
  // Logical types that are no decimals stay what they are beneath: a timestamp is a number. Unions are read by position.
  const options = { registry, logicalTypes: { decimal: DecimalType }, wrapUnions: 'auto' as const };
  for (const { text: referred } of references) avro.Type.forSchema(JSON.parse(referred), options);
  const type = avro.Type.forSchema(JSON.parse(text), options);
  const read = avroReader(type, 'message');
  return {
    format: 'avro',
    fields: new Map(
      type instanceof avro.types.RecordType ? type.fields.map(({ name, type: held }) => [name, kindOf(held)]) : [],
    ),
    decode(body) {
      const cursor = new AvroCursor(body);
      const value = read(cursor);
      if (cursor.left > 0) throw undecodable(`${cursor.left} bytes are left over`);
      return value;
    },
    encode(value) {
      try {
        return type.toBuffer(value);
      } catch (error) {
        if (isServingError(error)) throw error;
        throw undecodable(`does not fit the schema${misfits(type, value)}`);
      }
    },
  };
}

/** The fields that do not fit; avsc's own words quote the value. */
function misfits(type: avro.Type, value: unknown): string {
  const paths: string[] = [];
  try {
    type.isValid(value, { errorHook: (path) => void paths.push(path.join('.')) });
  } catch (error) {
    return ` (${asServingError(error).code})`;
  }
  return paths.length === 0 ? '' : `: ${[...new Set(paths)].slice(0, 3).join(', ')}`;
}

function kindOf(type: avro.Type): FieldKind {
  const { types } = avro;
  if (type instanceof DecimalType) return 'string';
  if (type instanceof types.LogicalType) return kindOf(type.underlyingType);
  if (type instanceof types.WrappedUnionType || type instanceof types.UnwrappedUnionType) {
    const kinds = new Set(type.types.filter(({ typeName }) => typeName !== 'null').map(kindOf));
    const [only] = kinds;
    return kinds.size === 1 && only !== undefined ? only : 'any';
  }
  switch (type.typeName) {
    case 'string':
    case 'enum':
      return 'string';
    case 'int':
    case 'long':
      return 'integer';
    case 'float':
    case 'double':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'bytes':
    case 'fixed':
      return 'bytes';
    case 'array':
      return 'array';
    case 'map':
    case 'record':
    case 'error':
      return 'object';
    default:
      return 'any';
  }
}
