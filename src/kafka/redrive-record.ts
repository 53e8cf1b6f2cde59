/**
 * A dead letter as the message that is replayed: key, value and headers as they first came, without what the dead letter said
 * of itself and with how often it has been replayed. Pure.
 *
 * A letter about one chunk of a batch message holds the whole message. Replayed is that chunk alone: its batch-mates are
 * stored, and several letters of one message would each send all of it again.
 */
import type { SourcePosition } from '../records/chunk.ts';
import { isObject } from './chunk-schema.ts';
import { DLQ_HEADER_PREFIX } from './dead-letter-record.ts';
import { type HeaderList, headerText } from './headers.ts';
import { type Letter, parseValue } from './letter.ts';
import type { OutgoingMessage } from './producer.ts';
import {
  formatPosition,
  REPLAY_AT_HEADER,
  REPLAY_COUNT_HEADER,
  REPLAY_HEADER_PREFIX,
  REPLAY_LETTER_HEADER,
  REPLAY_ORIGIN_HEADER,
} from './replay-headers.ts';

export type ReplayRules = {
  /** Undefined: each letter goes back to the topic that it came from. */
  readonly toTopic: string | undefined;
  /** A letter that has been replayed so often is left where it is. */
  readonly maxReplays: number;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
};

/**
 * `too-often`: it comes back again and again. `cut`: the letter holds only the beginning of its message. `no-origin`: it does
 * not say where it came from. `no-chunk`: its batch message has no such chunk. `too-large`: the topic does not take it.
 */
export const replayRefusals = ['too-often', 'cut', 'no-origin', 'no-chunk', 'too-large'] as const;
export type ReplayRefusal = (typeof replayRefusals)[number];

export type Replay = { readonly topic: string; readonly message: OutgoingMessage; readonly count: number };

export type ReplayVerdict =
  | { readonly ok: true; readonly replay: Replay }
  | { readonly ok: false; readonly refusal: ReplayRefusal };

export function replayOf(letter: Letter, rules: ReplayRules): ReplayVerdict {
  const { raw, origin, cutBytes, replays } = letter;
  const topic = rules.toTopic ?? origin?.topic;
  if (topic === undefined) return refused('no-origin');
  if (replays >= rules.maxReplays) return refused('too-often');
  if (cutBytes !== undefined) return refused('cut');
  const value = replayedValue(letter);
  if (value === undefined) return refused('no-chunk');
  const kept = raw.headers.filter(
    ([name]) => !name.startsWith(DLQ_HEADER_PREFIX) && !name.startsWith(REPLAY_HEADER_PREFIX),
  );
  const count = replays + 1;
  const headers = [...kept, ...ownHeaders(letter, count, rules.nowMs)];
  // Back into its own partition, whoever chose it: offsets say what is older only within one.
  const place = origin !== undefined && topic === origin.topic ? { partition: origin.partition } : {};
  return { ok: true, replay: { topic, count, message: { key: raw.key, value: value.bytes, headers, ...place } } };
}

function ownHeaders(letter: Letter, count: number, nowMs: number): HeaderList {
  const first = headerText(letter.raw.headers, REPLAY_ORIGIN_HEADER) ?? positionText(letter.origin);
  return [
    header(REPLAY_COUNT_HEADER, String(count)),
    ...(first === undefined ? [] : [header(REPLAY_ORIGIN_HEADER, first)]),
    header(REPLAY_LETTER_HEADER, formatPosition(letter.position)),
    header(REPLAY_AT_HEADER, new Date(nowMs).toISOString()),
  ];
}

function replayedValue({ raw: { value }, index }: Letter): { readonly bytes: Uint8Array | null } | undefined {
  // By a schema that is not at hand here a message cannot be taken apart, so it goes whole: its batch-mates are written again.
  if (index === undefined || value?.[0] === 0) return { bytes: value };
  const json = parseValue(value);
  if (!isObject(json) || !Array.isArray(json.chunks) || index >= json.chunks.length) return undefined;
  return { bytes: Buffer.from(JSON.stringify({ ...json, chunks: [json.chunks[index]] }), 'utf8') };
}

function positionText(position: SourcePosition | undefined): string | undefined {
  return position === undefined ? undefined : formatPosition(position);
}

function header(name: string, text: string): readonly [string, Uint8Array] {
  return [name, Buffer.from(text, 'utf8')];
}

function refused(refusal: ReplayRefusal): ReplayVerdict {
  return { ok: false, refusal };
}
