/**
 * A row as the fields of its hash, and the hash as a row.
 *
 * `vector` is the raw little-endian blob that a Redis vector index reads, of the index's element type. Fields that a row
 * does not have are left out, so that an empty text and no text stay different.
 */
import { asBuffer } from '../../kserve/bytes.ts';
import type { VectorContract, VectorDtype } from '../../kserve/contract.ts';
import { encodeFp16 } from '../../kserve/fp16.ts';
import type { JsonObject } from '../../records/chunk.ts';
import { decodeVector } from '../similarity.ts';
import type { SearchHit, SinkRow, StoredRow } from '../sink.ts';

/** Fields of a chunk's hash beside `vector` and `text`, in the order in which `rowFields` gives them. */
export const HEADER_FIELDS = [
  'chunk_id',
  'document_id',
  'tenant_id',
  'dims',
  'dtype',
  'fingerprint',
  'text_sha256',
  'truncated',
  'metadata',
  'topic',
  'partition',
  'offset',
  'version',
  'embedded_at',
] as const;

/** Null for a field that the row does not have. */
export function rowFields(row: SinkRow, contract: VectorContract, storedDtype: VectorDtype): (string | null)[] {
  const fields: Record<(typeof HEADER_FIELDS)[number], string | undefined> = {
    chunk_id: row.chunkId,
    document_id: row.documentId,
    tenant_id: row.tenantId,
    dims: String(contract.dims),
    dtype: storedDtype,
    fingerprint: contract.fingerprint,
    text_sha256: row.textSha256,
    truncated: row.truncated ? '1' : '0',
    metadata: row.metadata && JSON.stringify(row.metadata),
    topic: row.source.topic,
    partition: String(row.source.partition),
    offset: String(row.source.offset),
    version: row.version === undefined ? undefined : String(row.version),
    embedded_at: String(row.embeddedAtMs),
  };
  return HEADER_FIELDS.map((name) => fields[name] ?? null);
}

export function hashToRow(
  hash: Readonly<Record<string, Buffer>>,
  contract: Pick<VectorContract, 'dtype'>,
  storedDtype: VectorDtype,
): StoredRow {
  const text = (name: string) => hash[name]?.toString('utf8');
  return {
    chunkId: text('chunk_id') ?? '',
    documentId: text('document_id') ?? '',
    tenantId: text('tenant_id'),
    vector: fromBlob(hash.vector ?? Buffer.alloc(0), contract.dtype, storedDtype),
    fingerprint: text('fingerprint') ?? '',
    textSha256: text('text_sha256') ?? '',
    text: text('text'),
    truncated: text('truncated') === '1',
    metadata: parseMetadata(text('metadata')),
    source: {
      topic: text('topic') ?? '',
      partition: Number(text('partition')),
      offset: BigInt(text('offset') ?? 0),
    },
    version: hash.version === undefined ? undefined : Number(text('version')),
    embeddedAtMs: Number(text('embedded_at')),
  };
}

export const HIT_FIELDS = ['chunk_id', 'document_id', 'tenant_id', 'text', 'metadata'] as const;

/** Values in the order of HIT_FIELDS. */
export function fieldsToHit(values: readonly (string | null)[], score: number): SearchHit {
  const [chunkId, documentId, tenantId, text, metadata] = values;
  return {
    chunkId: chunkId ?? '',
    documentId: documentId ?? '',
    tenantId: tenantId ?? undefined,
    score,
    text: text ?? undefined,
    metadata: parseMetadata(metadata ?? undefined),
  };
}

export function toBlob(vector: Uint8Array, from: VectorDtype, to: VectorDtype): Buffer {
  return asBuffer(from === to ? vector : recode(vector, from, to));
}

/** Exact in the usual direction: each FP16 value is an FP32 value. */
function fromBlob(blob: Buffer, dtype: VectorDtype, storedDtype: VectorDtype): Uint8Array {
  return new Uint8Array(dtype === storedDtype ? blob : recode(blob, storedDtype, dtype));
}

function recode(bytes: Uint8Array, from: VectorDtype, to: VectorDtype): Uint8Array {
  const values = decodeVector(bytes, from);
  if (to === 'FP16') return encodeFp16(values);
  const target = new DataView(new ArrayBuffer(values.length * 4));
  for (const [index, value] of values.entries()) target.setFloat32(index * 4, value, true);
  return new Uint8Array(target.buffer);
}

function parseMetadata(text: string | undefined): JsonObject | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
}
