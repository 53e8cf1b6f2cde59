/**
 * One dead letter in full; pure. What may hold text or secrets of its producer (key, value, headers that are not ours) is
 * told by name and size only. Asked for, it is shown as it is, but made harmless for a terminal.
 */
import { isUtf8 } from 'node:buffer';
import { chunkFieldNames, isObject, shapeOf } from '../../src/kafka/chunk-schema.ts';
import { DLQ_HEADER_PREFIX } from '../../src/kafka/dead-letter-record.ts';
import { type Letter, parseValue } from '../../src/kafka/letter.ts';
import type { Mark } from '../../src/kafka/redrive-marks.ts';
import { formatPosition, REPLAY_HEADER_PREFIX } from '../../src/kafka/replay-headers.ts';
import { harmless } from '../tool/table.ts';
import { isoTime, letterJson } from './letter-line.ts';

const KNOWN_FIELDS: ReadonlySet<string> = new Set([...chunkFieldNames, 'chunks']);

export function letterDetails(letter: Letter, mark: Mark | undefined, showText: boolean): string {
  const { position, raw, replays } = letter;
  const lines: [name: string, says: string][] = [
    ['letter', formatPosition(position)],
    ['written', isoTime(letter.atMs) ?? '-'],
    ['code', letter.code ?? '-'],
    ['reason', letter.reason ?? '-'],
    ['stage', `${letter.stage ?? '-'}, attempts ${letter.attempts ?? '-'}, worker ${letter.worker ?? '-'}`],
    ['origin', letter.origin === undefined ? '-' : formatPosition(letter.origin)],
    ...(letter.index === undefined
      ? []
      : [['index', `chunk ${letter.index} of its batch message`] as [string, string]]),
    ['chunk', letter.chunkId ?? '-'],
    ['document', letter.documentId ?? '-'],
    ['replays', replays === 0 ? 'none before' : `came back after replay ${replays}`],
    ['replayed', mark === undefined ? 'no' : `${isoTime(mark.atMs) ?? '-'} to ${mark.toTopic}`],
    ['key', content(raw.key, showText)],
    ['value', showText ? content(raw.value, true) : valueShape(letter)],
  ];
  for (const [name, value] of raw.headers) {
    if (!name.startsWith(DLQ_HEADER_PREFIX)) lines.push([`header ${name}`, content(value, showText || isOurs(name))]);
  }
  return lines.map(([name, says]) => `${harmless(name).padEnd(9)} ${harmless(says)}\n`).join('');
}

export function letterDetailsJson(letter: Letter, mark: Mark | undefined, showText: boolean) {
  const { raw } = letter;
  return {
    ...letterJson(letter, mark),
    key: content(raw.key, showText),
    value: showText ? content(raw.value, true) : valueShape(letter),
    headers: raw.headers.map(([name, value]) => ({ name, value: content(value, showText || isOurs(name)) })),
  };
}

/** Fields of the message format by name; others may be named after anything and are counted. */
export function valueShape({ raw: { value }, cutBytes }: Pick<Letter, 'raw' | 'cutBytes'>): string {
  if (value === null) return 'null (a deletion)';
  const cut = cutBytes === undefined ? '' : `, cut from ${cutBytes}`;
  const size = `${value.byteLength} bytes${cut}`;
  const json = parseValue(value);
  if (json === undefined) return `${size}, ${isUtf8(value) ? 'no JSON' : 'not UTF-8'}`;
  if (!isObject(json)) return `${size}, JSON: ${shapeOf(json)}`;
  const names = Object.keys(json);
  const known = names.filter((name) => KNOWN_FIELDS.has(name)).map((name) => `${name} ${shapeOf(json[name])}`);
  const others = names.length - known.length;
  return `${size}, JSON: ${[...known, ...(others > 0 ? [`${others} other fields`] : [])].join('; ') || 'no fields'}`;
}

function isOurs(name: string): boolean {
  return name.startsWith(DLQ_HEADER_PREFIX) || name.startsWith(REPLAY_HEADER_PREFIX);
}

function content(bytes: Uint8Array | null, shown: boolean): string {
  if (bytes === null) return 'null';
  if (!shown) return `${bytes.byteLength} bytes`;
  return isUtf8(bytes) ? Buffer.from(bytes).toString('utf8') : `base64 ${Buffer.from(bytes).toString('base64')}`;
}
