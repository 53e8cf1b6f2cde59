/**
 * Rows as an Arrow table, and back.
 *
 * Vectors pass bit for bit: their bytes become the values of the Arrow array as they are. Converting through numbers
 * would lose NaN payloads and cost a decode and an encode for each element.
 */
import type { Data, DataType, Schema, Table } from 'apache-arrow';
import type { VectorContract } from '../../kserve/contract.ts';
import type { JsonObject } from '../../records/chunk.ts';
import type { StoredKey } from '../plan.ts';
import type { SearchHit, SinkRow, StoredRow } from '../sink.ts';
import type { ArrowLibrary } from './library.ts';

export function rowsToArrow(
  arrow: ArrowLibrary,
  schema: Schema,
  rows: readonly SinkRow[],
  contract: VectorContract,
): Table {
  const length = rows.length;
  const columns: Record<string, Data> = {
    chunk_id: utf8(rows.map((row) => row.chunkId)),
    document_id: utf8(rows.map((row) => row.documentId)),
    tenant_id: utf8(rows.map((row) => row.tenantId)),
    vector: vectors(),
    dims: arrow.makeData({ type: new arrow.Int32(), length, data: new Int32Array(length).fill(contract.dims) }),
    dtype: utf8(rows.map(() => contract.dtype)),
    fingerprint: utf8(rows.map(() => contract.fingerprint)),
    text_sha256: utf8(rows.map((row) => row.textSha256)),
    text: utf8(rows.map((row) => row.text)),
    truncated: arrow.makeData({ type: new arrow.Bool(), length, data: bitmap(rows.map((row) => row.truncated)) }),
    metadata: utf8(rows.map((row) => row.metadata && JSON.stringify(row.metadata))),
    source_topic: utf8(rows.map((row) => row.source.topic)),
    source_partition: arrow.makeData({
      type: new arrow.Int32(),
      length,
      data: Int32Array.from(rows, (row) => row.source.partition),
    }),
    source_offset: int64(
      new arrow.Int64(),
      rows.map((row) => row.source.offset),
    ),
    version: int64(
      new arrow.Int64(),
      rows.map((row) => (row.version === undefined ? undefined : BigInt(row.version))),
    ),
    embedded_at: int64(
      new arrow.TimestampMillisecond(),
      rows.map((row) => BigInt(Math.trunc(row.embeddedAtMs))),
    ),
  };
  const children = schema.fields.map((field) => columns[field.name]!);
  const data = arrow.makeData({ type: new arrow.Struct(schema.fields), length, nullCount: 0, children });
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data)]);

  function utf8(values: readonly (string | undefined)[]): Data {
    const pieces = values.map((value) => Buffer.from(value ?? '', 'utf8'));
    const valueOffsets = new Int32Array(length + 1);
    for (const [index, piece] of pieces.entries()) valueOffsets[index + 1] = valueOffsets[index]! + piece.length;
    return arrow.makeData({
      type: new arrow.Utf8(),
      length,
      valueOffsets,
      data: new Uint8Array(Buffer.concat(pieces)),
      ...validity(values),
    });
  }

  function int64(
    type: InstanceType<ArrowLibrary['Int64' | 'TimestampMillisecond']>,
    values: readonly (bigint | undefined)[],
  ): Data {
    const data = BigInt64Array.from(values, (value) => value ?? 0n);
    return arrow.makeData({ type, length, data, ...validity(values) } as Parameters<typeof arrow.makeData>[0]);
  }

  function vectors(): Data {
    const bytes = new Uint8Array(Buffer.concat(rows.map((row) => row.vector)));
    const count = length * contract.dims;
    const child =
      contract.dtype === 'FP16'
        ? arrow.makeData({ type: new arrow.Float16(), length: count, data: new Uint16Array(bytes.buffer) })
        : arrow.makeData({ type: new arrow.Float32(), length: count, data: new Float32Array(bytes.buffer) });
    const type = schema.fields.find((field) => field.name === 'vector')!.type;
    return arrow.makeData({ type, length, nullCount: 0, child } as Parameters<typeof arrow.makeData>[0]);
  }
}

/** Arrow validity: bit i set when value i is there. */
function validity(values: readonly unknown[]): { readonly nullCount: number; readonly nullBitmap?: Uint8Array } {
  const nullCount = values.reduce<number>((count, value) => (value === undefined ? count + 1 : count), 0);
  return nullCount === 0
    ? { nullCount }
    : { nullCount, nullBitmap: bitmap(values.map((value) => value !== undefined)) };
}

function bitmap(bits: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  for (const [index, bit] of bits.entries()) if (bit) bytes[index >> 3]! |= 1 << (index & 7);
  return bytes;
}

export const REVISION_COLUMNS = [
  'chunk_id',
  'document_id',
  'version',
  'source_topic',
  'source_partition',
  'source_offset',
];

export function arrowToKeys(table: Table): StoredKey[] {
  const at = cells(table);
  return Array.from({ length: table.numRows }, (_, row) => ({
    chunkId: at<string>('chunk_id', row),
    documentId: at<string>('document_id', row),
    version: optionalNumber(at<bigint | null>('version', row)),
    source: {
      topic: at<string>('source_topic', row),
      partition: at<number>('source_partition', row),
      offset: at<bigint>('source_offset', row),
    },
  }));
}

export function arrowToRows(table: Table): StoredRow[] {
  const at = cells(table);
  const vectors = rawVectors(table);
  return arrowToKeys(table).map((key, row) => ({
    ...key,
    tenantId: at<string | null>('tenant_id', row) ?? undefined,
    vector: vectors[row]!,
    fingerprint: at<string>('fingerprint', row),
    textSha256: at<string>('text_sha256', row),
    text: at<string | null>('text', row) ?? undefined,
    truncated: at<boolean>('truncated', row),
    metadata: parseMetadata(at<string | null>('metadata', row)),
    embeddedAtMs: Number(at<number>('embedded_at', row)),
  }));
}

export const HIT_COLUMNS = ['chunk_id', 'document_id', 'tenant_id', 'text', 'metadata', '_distance'];

/** Cosine distance is 1 - similarity; it is null for a vector without direction. */
export function arrowToHits(table: Table): SearchHit[] {
  const at = cells(table);
  return Array.from({ length: table.numRows }, (_, row) => ({
    chunkId: at<string>('chunk_id', row),
    documentId: at<string>('document_id', row),
    tenantId: at<string | null>('tenant_id', row) ?? undefined,
    score: 1 - (at<number | null>('_distance', row) ?? 1),
    text: at<string | null>('text', row) ?? undefined,
    metadata: parseMetadata(at<string | null>('metadata', row)),
  }));
}

function cells(table: Table): <T>(column: string, row: number) => T {
  const vectors = new Map(table.schema.fields.map((field) => [field.name, table.getChild(field.name)]));
  return <T>(column: string, row: number) => vectors.get(column)?.get(row) as T;
}

function rawVectors(table: Table): Uint8Array[] {
  return table.batches.flatMap((batch) => {
    const list = batch.getChild('vector')!.data[0] as Data<DataType>;
    const values = list.children[0]!.values as Uint16Array | Float32Array;
    const perRow = values.length / batch.numRows;
    return Array.from({ length: batch.numRows }, (_, row) => {
      const own = values.slice(row * perRow, (row + 1) * perRow);
      return new Uint8Array(own.buffer, own.byteOffset, own.byteLength);
    });
  });
}

function optionalNumber(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}

function parseMetadata(text: string | null): JsonObject | undefined {
  return text === null ? undefined : (JSON.parse(text) as JsonObject);
}
