/** Columns of the table, and the vector contract kept in the metadata of its schema. */
import type { Schema } from 'apache-arrow';
import type { VectorContract } from '../../kserve/contract.ts';
import type { CollectionContract } from '../contract-check.ts';
import type { ArrowLibrary } from './library.ts';

export const KEY_COLUMN = 'chunk_id';
const CONTRACT_KEY = 'rag-serving.contract';

/** `metadata` is a JSON object as text; `vector` little-endian as the model gave it; `source_offset` an exact 64-bit integer. */
export function tableSchema(arrow: ArrowLibrary, contract: VectorContract): Schema {
  const field = (name: string, type: InstanceType<ArrowLibrary['DataType']>, nullable = false) =>
    new arrow.Field(name, type, nullable);
  const element = contract.dtype === 'FP16' ? new arrow.Float16() : new arrow.Float32();
  const stored: CollectionContract = {
    fingerprint: contract.fingerprint,
    dims: contract.dims,
    dtype: contract.dtype,
  };
  return new arrow.Schema(
    [
      field(KEY_COLUMN, new arrow.Utf8()),
      field('document_id', new arrow.Utf8()),
      field('tenant_id', new arrow.Utf8(), true),
      field('vector', new arrow.FixedSizeList(contract.dims, new arrow.Field('item', element, true))),
      field('dims', new arrow.Int32()),
      field('dtype', new arrow.Utf8()),
      field('fingerprint', new arrow.Utf8()),
      field('text_sha256', new arrow.Utf8()),
      field('text', new arrow.Utf8(), true),
      field('truncated', new arrow.Bool()),
      field('metadata', new arrow.Utf8(), true),
      field('source_topic', new arrow.Utf8()),
      field('source_partition', new arrow.Int32()),
      field('source_offset', new arrow.Int64()),
      field('version', new arrow.Int64(), true),
      field('embedded_at', new arrow.TimestampMillisecond()),
    ],
    new Map([[CONTRACT_KEY, JSON.stringify(stored)]]),
  );
}

/** The contract a table was created with, or undefined for a table that is not ours. */
export function storedContract(schema: Schema): CollectionContract | undefined {
  const text = schema.metadata.get(CONTRACT_KEY);
  if (text === undefined) return undefined;
  return JSON.parse(text) as CollectionContract;
}

/** Names of columns that this version writes and the table does not have. */
export function missingColumns(expected: Schema, actual: Schema): string[] {
  const names = new Set(actual.fields.map((field) => field.name));
  return expected.fields.map((field) => field.name).filter((name) => !names.has(name));
}
