/**
 * The JSON form of a row's value. Numbers of the vector are the exact values of its elements, so that they come back bit for
 * bit, the sign of a zero included; the offset is text, because JSON readers round what is larger than 2^53.
 */
import { bytesPerVector, type VectorDtype } from '../../kserve/contract.ts';
import { encodeFp16 } from '../../kserve/fp16.ts';
import type { JsonObject } from '../../records/chunk.ts';
import { decodeVector } from '../similarity.ts';
import type { SinkRow } from '../sink.ts';
import type { RecordContract } from './record.ts';

/** All of a row that is not in key and headers. */
export type RowValue = Omit<SinkRow, 'chunkId' | 'source'>;

type Value = {
  readonly document_id: string;
  readonly tenant_id?: string;
  readonly version?: number;
  readonly vector: readonly number[];
  readonly text?: string;
  readonly text_sha256: string;
  readonly truncated: boolean;
  readonly metadata?: JsonObject;
  readonly embedded_at_ms: number;
};

export function encodeJson(row: SinkRow, { fingerprint, dims, dtype }: RecordContract): string {
  const { source } = row;
  const text = JSON.stringify({
    chunk_id: row.chunkId,
    document_id: row.documentId,
    tenant_id: row.tenantId,
    version: row.version,
    text: row.text,
    text_sha256: row.textSha256,
    truncated: row.truncated,
    metadata: row.metadata,
    source: { topic: source.topic, partition: source.partition, offset: String(source.offset) },
    embedded_at_ms: row.embeddedAtMs,
    fingerprint,
    dims,
    dtype,
  });
  const elements = Array.from(decodeVector(row.vector, dtype), (value) =>
    Object.is(value, -0) ? '-0' : String(value),
  );
  return `${text.slice(0, -1)},"vector":[${elements.join(',')}]}`;
}

export function decodeJson(bytes: Uint8Array, dtype: VectorDtype): RowValue {
  const value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as Value;
  return {
    documentId: value.document_id,
    tenantId: value.tenant_id,
    vector: elementBytes(value.vector, dtype),
    textSha256: value.text_sha256,
    text: value.text,
    truncated: value.truncated,
    metadata: value.metadata,
    version: value.version,
    embeddedAtMs: value.embedded_at_ms,
  };
}

function elementBytes(values: readonly number[], dtype: VectorDtype): Uint8Array {
  if (dtype === 'FP16') return encodeFp16(Float32Array.from(values));
  const bytes = new Uint8Array(bytesPerVector({ dims: values.length, dtype }));
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) view.setFloat32(index * 4, value, true);
  return bytes;
}
