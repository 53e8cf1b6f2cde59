/** What a schema does for values, whichever of the three languages it is written in. */
export const schemaFormats = ['avro', 'json-schema', 'protobuf'] as const;
export type SchemaFormat = (typeof schemaFormats)[number];

export type FieldKind = 'string' | 'integer' | 'number' | 'boolean' | 'bytes' | 'object' | 'array' | 'any';

export type ValueCodec = {
  readonly format: SchemaFormat;
  /** The value as the object that JSON of it would give. `body` is what follows the schema id. Throws VALUE_UNDECODABLE. */
  decode(body: Uint8Array): unknown;
  /** The body of an object. Throws VALUE_UNDECODABLE for what does not fit the schema. */
  encode(value: Readonly<Record<string, unknown>>): Uint8Array;
  /** Top-level fields; undefined where the schema leaves them open. Of several messages in one file, those of the first. */
  readonly fields: ReadonlyMap<string, FieldKind> | undefined;
};

/** A schema as the registry holds it, with the schemas that it refers to by the names it uses for them, theirs first. */
export type RegisteredSchema = {
  readonly format: SchemaFormat;
  readonly text: string;
  readonly references: readonly { readonly name: string; readonly text: string }[];
};

/**
 * Where a value stands in a message decides what its bytes become: fields of the contract that are texts keep them, so that
 * they are refused; anywhere else they are base64, as in the JSON form of Protobuf.
 */
export type Role = 'message' | 'text' | 'plain';

const TEXT_FIELDS: ReadonlySet<string> = new Set(['chunk_id', 'document_id', 'tenant_id', 'text']);

export function roleOfField(name: string, holder: Role): Role {
  if (holder !== 'message') return 'plain';
  if (name === 'chunks') return 'message';
  return TEXT_FIELDS.has(name) ? 'text' : 'plain';
}

export function bytesValue(bytes: Uint8Array, role: Role): Uint8Array | string {
  if (role === 'text') return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
