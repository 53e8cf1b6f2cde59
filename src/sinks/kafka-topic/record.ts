/**
 * A row as a record of the topic and back: key, headers, and a value in one of two forms. Pure.
 *
 * Every record says in its headers whose vectors these are and which message it came from, tombstones too; so a reader can
 * tell without decoding a value, and the last record of a topic tells what the topic holds.
 */
import { ServingError } from '../../errors.ts';
import type { HeaderList } from '../../kafka/headers.ts';
import { headerText } from '../../kafka/headers.ts';
import type { OutgoingMessage } from '../../kafka/producer.ts';
import type { VectorContract, VectorDtype } from '../../kserve/contract.ts';
import type { Deletion, SourcePosition } from '../../records/chunk.ts';
import type { SinkRow, StoredRow } from '../sink.ts';
import { decodeBinary, encodeBinary } from './binary-value.ts';
import { decodeJson, encodeJson } from './json-value.ts';

export const valueFormats = ['json', 'binary'] as const;
export type ValueFormat = (typeof valueFormats)[number];

export const CONTENT_TYPES: Readonly<Record<ValueFormat, string>> = {
  json: 'application/json',
  binary: 'application/vnd.rag-serving.embedding-v1',
};

export const headerNames = {
  fingerprint: 'rag-fingerprint',
  dims: 'rag-dims',
  dtype: 'rag-dtype',
  contentType: 'content-type',
  source: 'rag-source',
  scope: 'rag-scope',
} as const;

/** A record as a consumer has it. */
export type TopicRecord = {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: HeaderList;
};

/** What of a contract the headers tell. */
export type RecordContract = Pick<VectorContract, 'fingerprint' | 'dims' | 'dtype'>;

export type EmbeddingRecord =
  | { readonly kind: 'embedding'; readonly row: StoredRow; readonly contract: RecordContract }
  | { readonly kind: 'deletion'; readonly deletion: Deletion };

export function rowRecord(row: SinkRow, contract: RecordContract, format: ValueFormat): OutgoingMessage {
  return {
    key: row.chunkId,
    value: format === 'json' ? encodeJson(row, contract) : encodeBinary(row, contract),
    headers: headersOf(contract, row.source, [[headerNames.contentType, CONTENT_TYPES[format]]]),
  };
}

/** The deletion of a document goes to every partition: its chunks may lie in any. */
export function deletionRecords(deletion: Deletion, contract: RecordContract, partitions: number): OutgoingMessage[] {
  const record = { key: deletion.id, value: null };
  if (deletion.scope === 'chunk') return [{ ...record, headers: headersOf(contract, deletion.source, []) }];
  const headers = headersOf(contract, deletion.source, [[headerNames.scope, 'document']]);
  return Array.from({ length: partitions }, (_, partition) => ({ ...record, headers, partition }));
}

/** Rejects what no sink of this kind has written, with SINK_SCHEMA_MISMATCH. */
export function decodeEmbeddingRecord({ key, value, headers }: TopicRecord): EmbeddingRecord {
  const contract = contractOf(headers);
  const source = sourceOf(headerText(headers, headerNames.source));
  if (contract === undefined || source === undefined || key === null) throw notOurs('headers or key');
  const id = utf8(key);
  if (value === null) {
    const scope = headerText(headers, headerNames.scope) === 'document' ? 'document' : 'chunk';
    return { kind: 'deletion', deletion: { scope, id, source } };
  }
  const type = headerText(headers, headerNames.contentType);
  const { fingerprint } = contract;
  if (type === CONTENT_TYPES.json) {
    return {
      kind: 'embedding',
      contract,
      row: { ...decodeJson(value, contract.dtype), chunkId: id, source, fingerprint },
    };
  }
  if (type === CONTENT_TYPES.binary) {
    return { kind: 'embedding', contract, row: { ...decodeBinary(value), chunkId: id, source, fingerprint } };
  }
  throw notOurs(headerNames.contentType);
}

/** Undefined for a record of something else. */
export function contractOf(headers: HeaderList): RecordContract | undefined {
  const fingerprint = headerText(headers, headerNames.fingerprint);
  const dims = Number(headerText(headers, headerNames.dims));
  const dtype = headerText(headers, headerNames.dtype);
  if (fingerprint === undefined || !Number.isSafeInteger(dims) || !isDtype(dtype)) return undefined;
  return { fingerprint, dims, dtype };
}

function headersOf(
  { fingerprint, dims, dtype }: RecordContract,
  { topic, partition, offset }: SourcePosition,
  more: readonly (readonly [string, string])[],
): HeaderList {
  const texts: readonly (readonly [string, string])[] = [
    [headerNames.fingerprint, fingerprint],
    [headerNames.dims, String(dims)],
    [headerNames.dtype, dtype],
    [headerNames.source, `${topic}/${partition}/${offset}`],
    ...more,
  ];
  return texts.map(([name, text]) => [name, Buffer.from(text, 'utf8')]);
}

function sourceOf(text: string | undefined): SourcePosition | undefined {
  const [, topic, partition, offset] = /^([^/]+)\/(\d+)\/(\d+)$/.exec(text ?? '') ?? [];
  if (topic === undefined || partition === undefined || offset === undefined) return undefined;
  return { topic, partition: Number(partition), offset: BigInt(offset) };
}

function isDtype(text: string | undefined): text is VectorDtype {
  return text === 'FP16' || text === 'FP32';
}

function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function notOurs(what: string): ServingError {
  return new ServingError(
    'SINK_SCHEMA_MISMATCH',
    `a record is no embedding: its ${what} are not as this sink writes them`,
  );
}
