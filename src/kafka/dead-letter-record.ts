/**
 * A dead letter as the record that goes to the dead-letter topic: key, value and headers as they came, and why it is there.
 *
 * A record that came out of a dead-letter topic before has its old `rag-dlq-*` headers replaced, never stacked. One chunk of
 * a batch message takes the whole message along and says its index. A value that is too large for a record is cut to its
 * first bytes and `rag-dlq-cut` tells how many there were; the origin says where the whole one still is.
 */
import type { DeadLetter } from './dead-letter.ts';
import type { HeaderList } from './headers.ts';
import type { OutgoingMessage } from './producer.ts';

export const DLQ_HEADER_PREFIX = 'rag-dlq-';

export type DeadLetterContext = {
  readonly workerId: string;
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** Bytes of key, value and headers that a record may have. */
  readonly maxRecordBytes: number;
};

/** For what the log adds to a record: lengths, offsets, batch header. */
const RECORD_OVERHEAD_BYTES = 512;

export function deadLetterMessage(letter: DeadLetter, context: DeadLetterContext): OutgoingMessage {
  const { key, value, headers } = letter.raw;
  const kept = headers.filter(([name]) => !name.startsWith(DLQ_HEADER_PREFIX));
  const own = ownHeaders(letter, context);
  const room = context.maxRecordBytes - RECORD_OVERHEAD_BYTES;
  const whole: OutgoingMessage = { key, value, headers: [...kept, ...own] };
  if (messageBytes(whole) <= room || value === null) return fitHeaders(whole, own, room);
  const cut = header('cut', String(value.byteLength));
  const rest = room - messageBytes({ key, value: null, headers: [...kept, ...own, cut] });
  const shortened: OutgoingMessage = {
    key,
    value: value.subarray(0, Math.max(0, rest)),
    headers: [...kept, ...own, cut],
  };
  return fitHeaders(shortened, [...own, cut], room);
}

export function messageBytes({ key, value, headers = [] }: OutgoingMessage): number {
  let bytes = byteLength(key) + byteLength(value);
  for (const [name, content] of headers) bytes += Buffer.byteLength(name) + byteLength(content);
  return bytes;
}

/** Headers alone may be too much; then only ours go along, for a letter that cannot be written stops its partition. */
function fitHeaders(message: OutgoingMessage, own: HeaderList, room: number): OutgoingMessage {
  return messageBytes(message) <= room ? message : { ...message, headers: own };
}

function ownHeaders(
  { raw, index, error, stage, attempts }: DeadLetter,
  { workerId, atMs }: DeadLetterContext,
): HeaderList {
  const { topic, partition, offset } = raw.source;
  return [
    header('code', error.code),
    header('reason', error.message),
    header('stage', stage),
    header('attempts', String(attempts)),
    header('origin', `${topic}/${partition}/${offset}`),
    header('at', new Date(atMs).toISOString()),
    header('worker', workerId),
    ...(index === undefined ? [] : [header('index', String(index))]),
  ];
}

function header(name: string, value: string): readonly [string, Uint8Array] {
  return [`${DLQ_HEADER_PREFIX}${name}`, Buffer.from(value, 'utf8')];
}

function byteLength(content: Uint8Array | string | null): number {
  if (content === null) return 0;
  return typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength;
}
