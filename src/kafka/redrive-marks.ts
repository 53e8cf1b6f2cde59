/**
 * Which dead letters have been replayed: one mark each, in a compacted topic beside the dead letters, written in the
 * transaction of the replayed message. Pure; what reads and writes them is redrive.ts.
 *
 * A mark names its letter by partition, offset and time stamp: a dead-letter topic that was deleted and made again has other
 * letters at the same offsets.
 */
import type { LogBounds } from '../offsets/offset-reset.ts';
import type { RawMessage } from '../records/chunk.ts';
import { isObject } from './chunk-schema.ts';
import type { Letter } from './letter.ts';
import { parseValue } from './letter.ts';
import type { OutgoingMessage } from './producer.ts';

const VERSION = 1;

export type Mark = {
  /** When it was replayed, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly toTopic: string;
};

type StoredMark = Mark & { readonly letterTimestampMs: number };

export function marksTopicOf(deadLetterTopic: string): string {
  return `${deadLetterTopic}.redrive`;
}

export const MARKS_TOPIC_SETTINGS = { 'cleanup.policy': 'compact' } as const;

export function markMessage(letter: Letter, { atMs, toTopic }: Mark): OutgoingMessage {
  const value = { v: VERSION, letterTimestampMs: letter.raw.timestampMs, atMs, toTopic };
  return { key: keyOf(letter.position), value: JSON.stringify(value) };
}

export class RedriveMarks {
  readonly #byLetter = new Map<string, StoredMark>();

  /** In the order of their topic: a later one of the same letter counts. What is no mark is left alone. */
  take({ key, value }: Pick<RawMessage, 'key' | 'value'>): void {
    if (key === null) return;
    const letter = Buffer.from(key).toString('utf8');
    if (value === null) this.#byLetter.delete(letter);
    const json = parseValue(value);
    if (!isObject(json) || json.v !== VERSION) return;
    const { letterTimestampMs, atMs, toTopic } = json;
    if (typeof letterTimestampMs === 'number' && typeof atMs === 'number' && typeof toTopic === 'string') {
      this.#byLetter.set(letter, { letterTimestampMs, atMs, toTopic });
    }
  }

  of(letter: Pick<Letter, 'position' | 'raw'>): Mark | undefined {
    const mark = this.#byLetter.get(keyOf(letter.position));
    return mark?.letterTimestampMs === letter.raw.timestampMs ? mark : undefined;
  }

  /** Marks of letters that are gone, as the messages that remove them. */
  outlived(bounds: ReadonlyMap<number, LogBounds>): readonly OutgoingMessage[] {
    return [...this.#byLetter.keys()]
      .filter((key) => {
        const [partition, offset] = key.split('/');
        const low = bounds.get(Number(partition))?.low;
        return low !== undefined && /^\d+$/.test(offset ?? '') && BigInt(offset ?? '') < low;
      })
      .map((key) => ({ key, value: null }));
  }
}

function keyOf({ partition, offset }: Letter['position']): string {
  return `${partition}/${offset}`;
}
