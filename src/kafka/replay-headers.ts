/**
 * What a replayed message carries beside its own headers. They outlive another dead letter, so a message that goes round in
 * circles shows how often it has.
 *
 * The origin is the message's first place in its topic. It, not the place of the replay, says how old the content is: by its
 * new offset an old message would win over all that came since, and bring back what was deleted.
 */
import type { RawMessage, SourcePosition } from '../records/chunk.ts';
import { headerText } from './headers.ts';

export const REPLAY_HEADER_PREFIX = 'rag-replay-';
export const REPLAY_COUNT_HEADER = `${REPLAY_HEADER_PREFIX}count`;
export const REPLAY_ORIGIN_HEADER = `${REPLAY_HEADER_PREFIX}origin`;
/** `topic/partition/offset` of the dead letter that it was made of. */
export const REPLAY_LETTER_HEADER = `${REPLAY_HEADER_PREFIX}letter`;
export const REPLAY_AT_HEADER = `${REPLAY_HEADER_PREFIX}at`;

/** `topic/partition/offset`; topics hold no slash. */
export function parsePosition(text: string | undefined): SourcePosition | undefined {
  const found = /^([A-Za-z0-9._-]{1,249})\/(\d{1,9})\/(\d{1,18})$/.exec(text ?? '');
  if (found === null) return undefined;
  const [, topic = '', partition, offset = ''] = found;
  return { topic, partition: Number(partition), offset: BigInt(offset) };
}

export function formatPosition({ topic, partition, offset }: SourcePosition): string {
  return `${topic}/${partition}/${offset}`;
}

/**
 * The place that decides which of two revisions is newer. The header counts only for an earlier place of the same partition:
 * nothing may claim to be newer than it is, and after a topic was made anew old offsets mean nothing.
 */
export function revisionSource({ source, headers }: RawMessage): SourcePosition {
  if (headers.length === 0) return source;
  const origin = parsePosition(headerText(headers, REPLAY_ORIGIN_HEADER));
  const isEarlier =
    origin?.topic === source.topic && origin.partition === source.partition && origin.offset < source.offset;
  return isEarlier ? origin : source;
}
