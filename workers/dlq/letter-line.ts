/** A dead letter in one line: for the table, and as JSON. Pure. Of the message only its ids and sizes, never its content. */
import type { Letter } from '../../src/kafka/letter.ts';
import type { Mark } from '../../src/kafka/redrive-marks.ts';
import { formatPosition } from '../../src/kafka/replay-headers.ts';
import { formatAge } from '../tool/moment.ts';

export const LETTER_HEAD = ['LETTER', 'AGE', 'CODE', 'STAGE', 'TRIES', 'ORIGIN', 'CHUNK', 'REPLAYS', 'REPLAYED'];

/** `REPLAYS` is how often the message has come back, `REPLAYED` how long ago this letter of it was replayed. */
export function letterRow(letter: Letter, mark: Mark | undefined, nowMs: number): readonly (string | undefined)[] {
  const { position, atMs, code, stage, attempts, origin, index, chunkId, documentId, replays } = letter;
  const place =
    origin === undefined ? undefined : `${formatPosition(origin)}${index === undefined ? '' : `[${index}]`}`;
  return [
    `${position.partition}:${position.offset}`,
    formatAge(nowMs - atMs),
    code,
    stage,
    attempts === undefined ? undefined : String(attempts),
    place,
    chunkId ?? (documentId === undefined ? undefined : `(of ${documentId})`),
    String(replays),
    mark === undefined ? undefined : formatAge(nowMs - mark.atMs),
  ];
}

export function letterJson(letter: Letter, mark: Mark | undefined) {
  const { position, atMs, origin, raw, reason, worker, code, stage, attempts, index, cutBytes, replays } = letter;
  const known = { code, reason, stage, attempts, worker, index, cutBytes, replays };
  return {
    partition: position.partition,
    offset: String(position.offset),
    at: isoTime(atMs),
    ...known,
    origin: origin === undefined ? undefined : formatPosition(origin),
    chunkId: letter.chunkId,
    documentId: letter.documentId,
    valueBytes: raw.value?.byteLength ?? null,
    replayedAt: mark === undefined ? undefined : isoTime(mark.atMs),
    replayedTo: mark?.toTopic,
  };
}

/** A header may say any time, also one that no date can hold. */
export function isoTime(ms: number): string | undefined {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
