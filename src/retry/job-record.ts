/**
 * What waits in Redis for one chunk, as JSON; pure. `message` keeps the Kafka message, its bytes as base64; `origin` keeps
 * where it stands and nothing of its content.
 *
 * A record of another version is refused, not guessed at: while workers are replaced, old ones see what new ones wrote.
 */
import type { RawMessage, SourcePosition } from '../records/chunk.ts';
import type { RetryEntry } from './retry-queue.ts';

const VERSION = 1;

export type Payload = 'message' | 'origin';

type Base64 = string | null;

type StoredMessage = {
  readonly key: Base64;
  readonly value: Base64;
  readonly headers: readonly (readonly [name: string, value: Base64])[];
};

/** Plain JSON. */
export type StoredRecord = {
  readonly v: number;
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly timestampMs: number;
  readonly index: number | null;
  readonly attempts: number;
  /** For people who look into Redis. */
  readonly stage: string;
  readonly code: string;
  readonly message: StoredMessage | null;
};

export type JobRecord = {
  readonly source: SourcePosition;
  readonly timestampMs: number;
  readonly index: number | undefined;
  /** Made before the hand-over. */
  readonly attempts: number;
  /** Undefined when only the origin was kept. */
  readonly raw: RawMessage | undefined;
};

export function storedRecord({ raw, index, stage, error, attempts }: RetryEntry, payload: Payload): StoredRecord {
  const { topic, partition, offset } = raw.source;
  return {
    v: VERSION,
    topic,
    partition,
    offset: String(offset),
    timestampMs: raw.timestampMs,
    index: index ?? null,
    attempts,
    stage,
    code: error.code,
    message: payload === 'origin' ? null : storedMessage(raw),
  };
}

/** Undefined for what this version did not write. */
export function readRecord(data: unknown): JobRecord | undefined {
  const record = (typeof data === 'object' && data !== null ? data : {}) as Partial<StoredRecord>;
  const { v, topic, partition, offset, timestampMs, index, attempts, message } = record;
  if (v !== VERSION || typeof topic !== 'string' || !isCount(partition) || !isCount(attempts)) return undefined;
  if (typeof offset !== 'string' || !/^\d{1,19}$/.test(offset) || typeof timestampMs !== 'number') return undefined;
  if (index !== null && !isCount(index)) return undefined;
  const source = { topic, partition, offset: BigInt(offset) };
  const common = { source, timestampMs, index: index ?? undefined, attempts };
  if (message === null) return { ...common, raw: undefined };
  const content = messageContent(message);
  return content === undefined ? undefined : { ...common, raw: { source, timestampMs, ...content } };
}

function storedMessage({ key, value, headers }: RawMessage): StoredMessage {
  return {
    key: base64(key),
    value: base64(value),
    headers: headers.map(([name, content]) => [name, base64(content)]),
  };
}

function messageContent(message: unknown): Pick<RawMessage, 'key' | 'value' | 'headers'> | undefined {
  const { key, value, headers } = (typeof message === 'object' && message !== null ? message : {}) as StoredMessage;
  if (!isBase64(key) || !isBase64(value) || !Array.isArray(headers)) return undefined;
  const read: [string, Uint8Array | null][] = [];
  for (const header of headers) {
    if (!Array.isArray(header) || typeof header[0] !== 'string' || !isBase64(header[1])) return undefined;
    read.push([header[0], bytes(header[1])]);
  }
  return { key: bytes(key), value: bytes(value), headers: read };
}

function base64(content: Uint8Array | null): Base64 {
  return content === null
    ? null
    : Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
}

function bytes(content: Base64): Uint8Array | null {
  return content === null ? null : Buffer.from(content, 'base64');
}

function isBase64(content: unknown): content is Base64 {
  return content === null || typeof content === 'string';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
