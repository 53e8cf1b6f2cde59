/** Rows as the parameters of a write, and what PostgreSQL gives back as rows. */
import type { VectorContract, VectorDtype } from '../../kserve/contract.ts';
import { encodeFp16 } from '../../kserve/fp16.ts';
import type { JsonObject, SourcePosition } from '../../records/chunk.ts';
import type { StoredKey } from '../plan.ts';
import { decodeVector } from '../similarity.ts';
import type { SearchHit, SinkRow, StoredRow } from '../sink.ts';
import { boolArray, int4Array, int8Array, textArray, vectorArray, vectorBytes } from './binary.ts';
import type { Row } from './connection.ts';
import { escapeJson, escapeText, unescapeJson, unescapeText } from './escape.ts';
import type { PgElement } from './options.ts';
import type { ElementType } from './schema.ts';

/** A row whose vector has the elements of the column. */
export type PackedRow = { readonly row: SinkRow; readonly vector: Uint8Array };

export function elementDtype(element: PgElement): VectorDtype {
  return element === 'halfvec' ? 'FP16' : 'FP32';
}

/** Exact where the column's elements are the model's or larger. */
export function recode(vector: Uint8Array, from: VectorDtype, to: VectorDtype): Uint8Array {
  if (from === to) return vector;
  const values = decodeVector(vector, from);
  if (to === 'FP16') return encodeFp16(values);
  const bytes = new DataView(new ArrayBuffer(values.length * 4));
  for (const [index, value] of values.entries()) bytes.setFloat32(index * 4, value, true);
  return new Uint8Array(bytes.buffer);
}

/** pgvector takes neither NaN nor infinity: in both all bits of the exponent are set. */
export function isFiniteVector(vector: Uint8Array, dtype: VectorDtype): boolean {
  const step = dtype === 'FP16' ? 2 : 4;
  for (let last = step - 1; last < vector.length; last += step) {
    const high = vector[last]! & 0x7f;
    if (dtype === 'FP16' ? (high & 0x7c) === 0x7c : high === 0x7f && (vector[last - 1]! & 0x80) !== 0) return false;
  }
  return true;
}

/** In the order of WRITE_COLUMNS, then the vectors, the fingerprint and the oldest time of a tombstone that counts. */
export function writeParameters(
  packed: readonly PackedRow[],
  { fingerprint }: Pick<VectorContract, 'fingerprint'>,
  type: ElementType,
  oldestMs: number,
): readonly unknown[] {
  const rows = packed.map(({ row }) => row);
  return [
    textArray(rows.map((row) => escapeText(row.chunkId))),
    textArray(rows.map((row) => escapeText(row.documentId))),
    textArray(rows.map((row) => row.tenantId && escapeText(row.tenantId))),
    textArray(rows.map((row) => row.textSha256)),
    textArray(rows.map((row) => row.text && escapeText(row.text))),
    boolArray(rows.map((row) => row.truncated)),
    textArray(rows.map((row) => row.metadata && escapeJson(JSON.stringify(row.metadata)))),
    textArray(rows.map((row) => row.source.topic)),
    int4Array(rows.map((row) => row.source.partition)),
    int8Array(rows.map((row) => row.source.offset)),
    int8Array(rows.map((row) => (row.version === undefined ? undefined : BigInt(row.version)))),
    int8Array(rows.map((row) => BigInt(Math.trunc(row.embeddedAtMs)))),
    vectorArray(
      type.oid,
      packed.map(({ vector }) => vector),
      elementDtype(type.element),
    ),
    fingerprint,
    String(oldestMs),
  ];
}

/** What a row takes in a statement, roughly. */
export function sizeOf({ row, vector }: PackedRow): number {
  return 256 + vector.length + (row.text === undefined ? 0 : Buffer.byteLength(row.text));
}

export function rowToKey(row: Row): StoredKey {
  return {
    chunkId: unescapeText(row.chunk_id as string),
    documentId: unescapeText(row.document_id as string),
    source: sourceOf(row),
    version: row.version === null ? undefined : Number(row.version),
  };
}

export function sourceOf(row: Row): SourcePosition {
  return {
    topic: row.source_topic as string,
    partition: row.source_partition as number,
    offset: BigInt(row.source_offset as string),
  };
}

export function rowToStored(row: Row, { dtype }: Pick<VectorContract, 'dtype'>, element: PgElement): StoredRow {
  const { chunkId, documentId, source, version } = rowToKey(row);
  const stored = elementDtype(element);
  return {
    ...{ chunkId, documentId, source, version },
    tenantId: optionalText(row.tenant_id),
    vector: recode(vectorBytes(row.vector as Buffer, stored), stored, dtype),
    fingerprint: row.fingerprint as string,
    textSha256: row.text_sha256 as string,
    text: optionalText(row.text),
    truncated: row.truncated as boolean,
    metadata: metadataOf(row.metadata),
    embeddedAtMs: Number(row.embedded_at_ms),
  };
}

export function rowToHit(row: Row): SearchHit {
  const score = row.score as number;
  return {
    chunkId: unescapeText(row.chunk_id as string),
    documentId: unescapeText(row.document_id as string),
    tenantId: optionalText(row.tenant_id),
    // A vector without direction has no angle to anything.
    score: Number.isNaN(score) ? 0 : score,
    text: optionalText(row.text),
    metadata: metadataOf(row.metadata),
  };
}

function optionalText(value: unknown): string | undefined {
  return value === null ? undefined : unescapeText(value as string);
}

function metadataOf(value: unknown): JsonObject | undefined {
  return value === null ? undefined : (JSON.parse(unescapeJson(value as string)) as JsonObject);
}
