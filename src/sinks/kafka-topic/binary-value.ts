/**
 * The binary form of a row's value, version 1; docs/sinks/kafka-topic.md has it as a table. Little-endian. The elements of
 * the vector begin at byte 8, where a reader may lay a typed array over them.
 *
 * What key and headers say (chunk id, fingerprint, source) is not repeated. Reading is strict: a value that is too short, too
 * long or of another version is refused.
 */
import { ServingError } from '../../errors.ts';
import { bytesPerVector, type VectorDtype } from '../../kserve/contract.ts';
import type { JsonObject } from '../../records/chunk.ts';
import type { SinkRow } from '../sink.ts';
import type { RowValue } from './json-value.ts';
import type { RecordContract } from './record.ts';

const VERSION = 1;
const DTYPES: readonly VectorDtype[] = ['FP16', 'FP32'];
const FLAGS = { truncated: 1, version: 2, tenant: 4, text: 8, metadata: 16 } as const;
const ALL_FLAGS = 31;
const VECTOR_AT = 8;
const SHA256_BYTES = 32;

export function encodeBinary(row: SinkRow, { dims, dtype }: RecordContract): Uint8Array {
  const texts = [
    row.documentId,
    row.tenantId,
    row.text,
    row.metadata === undefined ? undefined : JSON.stringify(row.metadata),
  ].flatMap((text) => (text === undefined ? [] : [Buffer.from(text, 'utf8')]));
  const fixed = VECTOR_AT + row.vector.length + 8 + SHA256_BYTES + (row.version === undefined ? 0 : 8);
  const bytes = Buffer.alloc(fixed + texts.reduce((sum, text) => sum + 4 + text.length, 0));
  bytes[0] = VERSION;
  bytes[1] = DTYPES.indexOf(dtype) + 1;
  bytes[2] = flagsOf(row);
  bytes.writeUInt32LE(dims, 4);
  bytes.set(row.vector, VECTOR_AT);
  let at = VECTOR_AT + row.vector.length;
  at = bytes.writeDoubleLE(row.embeddedAtMs, at);
  at += bytes.write(row.textSha256, at, SHA256_BYTES, 'hex');
  if (row.version !== undefined) at = bytes.writeBigUInt64LE(BigInt(row.version), at);
  for (const text of texts) {
    at = bytes.writeUInt32LE(text.length, at);
    bytes.set(text, at);
    at += text.length;
  }
  return bytes;
}

export function decodeBinary(value: Uint8Array): RowValue {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof ServingError) throw error;
    throw damaged('it is cut off');
  }
}

function read(bytes: Buffer): RowValue {
  if (bytes[0] !== VERSION) throw damaged(`it is of version ${bytes[0]}, not ${VERSION}`);
  const dtype = DTYPES[bytes.readUInt8(1) - 1];
  const flags = bytes.readUInt8(2);
  if (dtype === undefined || (flags & ~ALL_FLAGS) !== 0 || bytes[3] !== 0) throw damaged('its head is unknown');
  let at = VECTOR_AT;
  const take = (size: number): Buffer => {
    if (at + size > bytes.length) throw damaged('it is cut off');
    at += size;
    return bytes.subarray(at - size, at);
  };
  const vector = new Uint8Array(take(bytesPerVector({ dims: bytes.readUInt32LE(4), dtype })));
  const embeddedAtMs = take(8).readDoubleLE();
  const textSha256 = take(SHA256_BYTES).toString('hex');
  const version = (flags & FLAGS.version) === 0 ? undefined : Number(take(8).readBigUInt64LE());
  const text = () => take(take(4).readUInt32LE()).toString('utf8');
  const optional = (flag: number) => ((flags & flag) === 0 ? undefined : text());
  const documentId = text();
  const tenantId = optional(FLAGS.tenant);
  const stored = optional(FLAGS.text);
  const metadata = optional(FLAGS.metadata);
  if (at !== bytes.length) throw damaged(`it has ${bytes.length - at} bytes too many`);
  return {
    documentId,
    tenantId,
    vector,
    textSha256,
    text: stored,
    truncated: (flags & FLAGS.truncated) !== 0,
    metadata: metadata === undefined ? undefined : (JSON.parse(metadata) as JsonObject),
    version,
    embeddedAtMs,
  };
}

function flagsOf(row: SinkRow): number {
  return (
    (row.truncated ? FLAGS.truncated : 0) |
    (row.version === undefined ? 0 : FLAGS.version) |
    (row.tenantId === undefined ? 0 : FLAGS.tenant) |
    (row.text === undefined ? 0 : FLAGS.text) |
    (row.metadata === undefined ? 0 : FLAGS.metadata)
  );
}

function damaged(why: string): ServingError {
  return new ServingError('SINK_SCHEMA_MISMATCH', `a binary value cannot be read: ${why}`);
}
