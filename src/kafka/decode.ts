/**
 * A Kafka message as records: one chunk, the chunks of a batch message, a deletion, or rejects that say why.
 *
 * Never throws: what cannot be read becomes a `reject` that goes to the dead letters, and a bad chunk of a batch message
 * takes none of its batch-mates with it. Errors name the field and the shape, never the content, and keep no cause that
 * quotes it. Rules that could be otherwise: of a JSON key that is there twice the last wins; a value that is not valid
 * UTF-8 is rejected, for it would embed another text; a byte order mark is skipped; a `document_id` that is absent is the
 * message key, or else the chunk id.
 */
import { isUtf8 } from 'node:buffer';
import { ServingError } from '../errors.ts';
import type { ChunkRecord, JsonObject, JsonValue, RawMessage } from '../records/chunk.ts';
import { type Settle, settleWhenAll } from '../records/outcome.ts';
import type { RecordInFlight } from '../records/travel.ts';
import {
  type BatchFields,
  batchSchema,
  type ChunkFields,
  chunkFieldNames,
  chunkSchema,
  describeProblem,
  isId,
  isMetadata,
  isObject,
  MAX_ID_BYTES,
} from './chunk-schema.ts';
import { headerText } from './headers.ts';
import { readJson } from './json-value.ts';
import { revisionSource } from './replay-headers.ts';
import { limitText, type OversizedText } from './text-limit.ts';
import type { ValueReader } from './value-reader.ts';

export const SCOPE_HEADER = 'rag-scope';
/** Names the chunk of a deletion whose key is the document's, so that it travels in the partition of the document's chunks. */
export const CHUNK_ID_HEADER = 'rag-chunk-id';

export type DecodeOptions = {
  readonly maxTextBytes: number;
  /** Longer text is cut at a code point and flagged, or rejected with CHUNK_TOO_LARGE. */
  readonly oversizedText: OversizedText;
  /** Fields that the contract does not know go into `metadata`; a field of that name already there stays. */
  readonly keepUnknownFields: boolean;
  /** How bytes become the object that these rules are about; plain JSON unless given. What it cannot read yet, nobody decodes. */
  readonly values?: ValueReader | undefined;
};

/** `settle` is called once, when every record of the message has ended. */
export function decodeMessage(raw: RawMessage, options: DecodeOptions, settle: Settle): RecordInFlight[] {
  const reject = (error: ServingError): RecordInFlight[] => [{ kind: 'reject', error, raw, index: undefined, settle }];
  try {
    if (raw.value === null) return [deletion(raw, settle)];
    const json = options.values === undefined ? readJson(raw.value) : options.values.read(raw.value);
    if (!isObject(json) || !Object.hasOwn(json, 'chunks')) {
      return [{ kind: 'chunk', chunk: chunk(json, undefined, undefined, raw, options), raw, settle }];
    }
    if (Object.hasOwn(json, 'chunk_id')) throw invalid('value: holds both chunk_id and chunks; send one of the two');
    const batch = batchSchema.safeParse(json);
    if (!batch.success) throw invalid(describeProblem(batch.error, json));
    const shared = batch.data;
    const settles = settleWhenAll(shared.chunks.length, settle);
    return shared.chunks.map((one, index) => batchChunk(one, index, shared, raw, options, settles[index]!));
  } catch (error) {
    return reject(asChunkError(error));
  }
}

function batchChunk(
  input: unknown,
  index: number,
  shared: BatchFields,
  raw: RawMessage,
  options: DecodeOptions,
  settle: Settle,
): RecordInFlight {
  try {
    return { kind: 'chunk', chunk: chunk(input, index, shared, raw, options), raw, settle };
  } catch (error) {
    return { kind: 'reject', error: asChunkError(error), raw, index, settle };
  }
}

function chunk(
  input: unknown,
  batchIndex: number | undefined,
  shared: BatchFields | undefined,
  raw: RawMessage,
  options: DecodeOptions,
): ChunkRecord {
  const parsed = chunkSchema.safeParse(input);
  if (!parsed.success) throw invalid(describeProblem(parsed.error, input));
  const fields = parsed.data;
  const limited = limitText(fields.text, options.maxTextBytes, options.oversizedText);
  if (limited.kind === 'blank') {
    throw new ServingError('CHUNK_BLANK', `text: nothing but white space (${fields.text.length} characters)`);
  }
  if (limited.kind === 'too-large') {
    throw new ServingError(
      'CHUNK_TOO_LARGE',
      `text: ${limited.bytes} bytes, more than the ${options.maxTextBytes} allowed`,
    );
  }
  return {
    chunkId: fields.chunk_id,
    documentId: fields.document_id ?? shared?.document_id ?? keyId(raw) ?? fields.chunk_id,
    text: limited.text,
    truncated: limited.truncated,
    tenantId: fields.tenant_id ?? shared?.tenant_id,
    version: fields.version ?? shared?.version,
    metadata: metadataOf(fields, shared, input, options),
    source: revisionSource(raw),
    batchIndex,
  };
}

/** Without unknown fields the very object that was parsed; a chunk's own metadata replaces what its batch shares. */
function metadataOf(
  fields: ChunkFields,
  shared: BatchFields | undefined,
  input: unknown,
  options: DecodeOptions,
): JsonObject | undefined {
  const metadata = fields.metadata ?? shared?.metadata;
  if (!options.keepUnknownFields || !isObject(input)) return metadata;
  const unknown = Object.entries(input).filter(([name]) => !chunkFieldNames.has(name));
  if (unknown.length === 0) return metadata;
  const merged = Object.fromEntries([...unknown, ...Object.entries(metadata ?? {})]) as Record<string, JsonValue>;
  if (!isMetadata(merged)) throw invalid('metadata: too large or too deep once the unknown fields are in it');
  return merged;
}

function deletion(raw: RawMessage, settle: Settle): RecordInFlight {
  if (raw.key === null) throw invalid('key: a message without value deletes what its key names, and it has no key');
  const id = keyId(raw);
  if (id === undefined)
    throw invalid(`key: expected 1 to ${MAX_ID_BYTES} bytes of UTF-8, got ${raw.key.byteLength} bytes`);
  const scope = headerText(raw.headers, SCOPE_HEADER) ?? 'chunk';
  if (scope !== 'chunk' && scope !== 'document') {
    throw invalid(`header ${SCOPE_HEADER}: expected chunk or document, got ${scope.length} other characters`);
  }
  const named = headerText(raw.headers, CHUNK_ID_HEADER);
  if (named !== undefined && scope === 'document')
    throw invalid(`header ${CHUNK_ID_HEADER}: has no place in a deletion of a document`);
  if (named !== undefined && !isId(named)) {
    throw invalid(`header ${CHUNK_ID_HEADER}: expected 1 to ${MAX_ID_BYTES} bytes, got ${Buffer.byteLength(named)}`);
  }
  return { kind: 'deletion', deletion: { scope, id: named ?? id, source: revisionSource(raw) }, raw, settle };
}

function keyId({ key }: RawMessage): string | undefined {
  if (key === null || !isUtf8(key)) return undefined;
  const id = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8');
  return isId(id) ? id : undefined;
}

function invalid(message: string): ServingError {
  return new ServingError('CHUNK_INVALID', message);
}

/** Anything but our own error is a surprise of the parser on this one message; only its type is told. */
function asChunkError(error: unknown): ServingError {
  if (error instanceof ServingError) return error;
  return invalid(`value: could not be read (${error instanceof Error ? error.name : typeof error})`);
}
