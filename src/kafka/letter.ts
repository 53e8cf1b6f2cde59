/**
 * A record of the dead-letter topic as an operator asks about it: why it is there, where from, which chunk. Pure.
 *
 * Anything can lie in a topic: what a header should say and does not is undefined here, never an error.
 */
import { isUtf8 } from 'node:buffer';
import type { RawMessage, SourcePosition } from '../records/chunk.ts';
import { isId, isObject } from './chunk-schema.ts';
import { DLQ_HEADER_PREFIX } from './dead-letter-record.ts';
import { headerText } from './headers.ts';
import { parsePosition, REPLAY_COUNT_HEADER } from './replay-headers.ts';

export type Letter = {
  /** In the dead-letter topic. */
  readonly position: SourcePosition;
  /** When it was written there. */
  readonly atMs: number;
  readonly code: string | undefined;
  readonly reason: string | undefined;
  readonly stage: string | undefined;
  readonly attempts: number | undefined;
  readonly worker: string | undefined;
  /** Where the message stood when it failed. */
  readonly origin: SourcePosition | undefined;
  /** Which chunk of a batch message is meant. */
  readonly index: number | undefined;
  /** Bytes of the value before it was cut; undefined when it is whole. */
  readonly cutBytes: number | undefined;
  /** How often this message has been replayed before it came here. */
  readonly replays: number;
  readonly chunkId: string | undefined;
  readonly documentId: string | undefined;
  readonly raw: RawMessage;
};

export function letterOf(raw: RawMessage): Letter {
  const told = (name: string) => headerText(raw.headers, `${DLQ_HEADER_PREFIX}${name}`);
  const index = count(told('index'));
  const at = Date.parse(told('at') ?? '');
  return {
    position: raw.source,
    atMs: Number.isNaN(at) ? raw.timestampMs : at,
    code: told('code'),
    reason: told('reason'),
    stage: told('stage'),
    attempts: count(told('attempts')),
    worker: told('worker'),
    origin: parsePosition(told('origin')),
    index,
    cutBytes: count(told('cut')),
    replays: count(headerText(raw.headers, REPLAY_COUNT_HEADER)) ?? 0,
    ...messageIds(raw, index),
    raw,
  };
}

/** Ids as the worker would read them; of a value that it cannot read, the document is what the key names. */
export function messageIds(
  { key, value }: Pick<RawMessage, 'key' | 'value'>,
  index: number | undefined,
): { readonly chunkId: string | undefined; readonly documentId: string | undefined } {
  const json = parseValue(value);
  const chunks = isObject(json) && Array.isArray(json.chunks) ? json.chunks : undefined;
  const chunk = chunks === undefined ? json : chunks[index ?? -1];
  const chunkId = idIn(chunk, 'chunk_id');
  const named = key !== null && isUtf8(key) ? Buffer.from(key).toString('utf8') : undefined;
  const keyId = named !== undefined && isId(named) ? named : undefined;
  return { chunkId, documentId: idIn(chunk, 'document_id') ?? idIn(json, 'document_id') ?? keyId ?? chunkId };
}

/** Undefined for what is no JSON. */
export function parseValue(value: Uint8Array | null): unknown {
  if (value === null || !isUtf8(value)) return undefined;
  try {
    return JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8'));
  } catch {
    return undefined;
  }
}

function idIn(holder: unknown, field: string): string | undefined {
  const id = isObject(holder) && Object.hasOwn(holder, field) ? (holder as Record<string, unknown>)[field] : undefined;
  return typeof id === 'string' && isId(id) ? id : undefined;
}

function count(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
