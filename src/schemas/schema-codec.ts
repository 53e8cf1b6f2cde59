/** A schema of the registry as a codec; what its language cannot make sense of is SCHEMA_INVALID. */
import { avroCodec } from './avro.ts';
import type { RegisteredSchema, SchemaFormat, ValueCodec } from './codec.ts';
import { invalidSchema } from './faults.ts';
import { jsonSchemaCodec } from './json-schema.ts';
import { protobufCodec } from './protobuf.ts';

const makers = {
  avro: avroCodec,
  'json-schema': jsonSchemaCodec,
  protobuf: protobufCodec,
} as const satisfies Record<SchemaFormat, (schema: RegisteredSchema) => ValueCodec>;

export function schemaCodec(schema: RegisteredSchema, name: string): ValueCodec {
  try {
    return makers[schema.format](schema);
  } catch (error) {
    throw invalidSchema(`${name} is no usable ${schema.format} schema`, error);
  }
}
