/** What `produce` makes of a JSON message before it is sent: the same value by a registered schema, or the JSON as it is. */
import { readFile } from 'node:fs/promises';
import type { SchemasConfig } from '../../src/config/sections/schemas.ts';
import { ServingError } from '../../src/errors.ts';
import type { ValueCodec } from '../../src/schemas/codec.ts';
import { undecodable } from '../../src/schemas/faults.ts';
import { schemaCodec } from '../../src/schemas/schema-codec.ts';
import { checkSubject } from '../../src/schemas/subject-check.ts';
import { framed } from '../../src/schemas/wire-format.ts';
import type { Outgoing } from '../files/message.ts';
import { registryClient } from '../schema-values.ts';

/** Throws VALUE_UNDECODABLE for a message that the schema does not hold. */
export type Encode = (message: Outgoing) => Outgoing;

export type EncoderRequest = {
  readonly schemas: SchemasConfig;
  readonly topic: string;
  /** Registered first; undefined takes the newest of the subject. */
  readonly schemaFile: string | undefined;
  /** Nothing is registered. */
  readonly dryRun: boolean;
};

/** Undefined where JSON is sent as it is. */
export async function openEncoder(request: EncoderRequest, signal: AbortSignal): Promise<Encode | undefined> {
  const { schemas, schemaFile, dryRun, topic } = request;
  if (schemas === undefined || schemas.format === 'auto') {
    if (schemaFile === undefined) return undefined;
    throw new ServingError('ARGUMENT_INVALID', '--schema needs --value-format avro, json-schema or protobuf');
  }
  const { format } = schemas;
  const subject = schemas.subject ?? `${topic}-value`;
  const text = schemaFile === undefined ? undefined : await readSchema(schemaFile);
  const client = registryClient(schemas);
  try {
    if (text !== undefined) {
      const schema = { format, text, references: [] };
      const codec = schemaCodec(schema, schemaFile ?? '');
      checkSubject(subject, { id: 0, version: 0, schema }, format);
      return encoderOf(codec, dryRun ? 0 : await client.register(subject, schema, signal));
    }
    const latest = await client.latest(subject, signal);
    if (latest === undefined) {
      throw new ServingError(
        'SCHEMA_MISMATCH',
        `subject ${subject} does not exist; give its schema with --schema FILE`,
      );
    }
    checkSubject(subject, latest, format);
    return encoderOf(schemaCodec(latest.schema, `subject ${subject}`), latest.id);
  } finally {
    client.close();
  }
}

function encoderOf(codec: ValueCodec, schemaId: number): Encode {
  return (message) => {
    const value = JSON.parse(Buffer.from(message.value).toString('utf8')) as Record<string, unknown>;
    const { fields } = codec;
    // avsc leaves out what its schema does not name; whoever sends it would miss it only in the store.
    const foreign = fields && Object.keys(value).find((name) => !fields.has(name));
    if (foreign !== undefined && codec.format !== 'json-schema') {
      throw undecodable(`field ${foreign.slice(0, 80)} is not in the schema`);
    }
    return { ...message, value: framed(schemaId, codec.encode(value)) };
  };
}

async function readSchema(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ServingError('ARGUMENT_INVALID', `--schema ${file}: cannot be read (${code})`);
  }
}
