import { describe, expect, it } from 'vitest';
import { decodeMessage } from '../../../src/kafka/decode.ts';
import { letterOf } from '../../../src/kafka/letter.ts';
import { markMessage, RedriveMarks } from '../../../src/kafka/redrive-marks.ts';
import { type ReplayRules, replayOf } from '../../../src/kafka/redrive-record.ts';
import { parsePosition, revisionSource } from '../../../src/kafka/replay-headers.ts';
import type { RawMessage } from '../../../src/records/chunk.ts';

type Headers = readonly (readonly [string, string])[];

function raw(
  headers: Headers,
  value: string | null = '{"chunk_id":"c","text":"t"}',
  more: Partial<RawMessage> = {},
): RawMessage {
  return {
    source: { topic: 't.dlq', partition: 0, offset: 5n },
    key: Buffer.from('doc'),
    value: value === null ? null : Buffer.from(value),
    headers: headers.map(([name, text]) => [name, Buffer.from(text)]),
    timestampMs: 1_000,
    ...more,
  };
}

const ORIGIN = ['rag-dlq-origin', 't/2/77'] as const;
const RULES: ReplayRules = { toTopic: undefined, maxReplays: 3, nowMs: 0 };

describe('a dead letter', () => {
  it('is read from its headers, and its ids from what the worker would read', () => {
    const letter = letterOf(
      raw(
        [ORIGIN, ['rag-dlq-code', 'CHUNK_BLANK'], ['rag-dlq-attempts', '4'], ['rag-dlq-index', '1']],
        '{"document_id":"d","chunks":[{"chunk_id":"a"},{"chunk_id":"b"}]}',
      ),
    );
    expect(letter).toMatchObject({
      code: 'CHUNK_BLANK',
      attempts: 4,
      index: 1,
      chunkId: 'b',
      documentId: 'd',
      atMs: 1_000,
    });
    expect(letter.origin).toEqual({ topic: 't', partition: 2, offset: 77n });
  });

  it.each([
    ['no headers', [], '{}'],
    [
      'headers of nonsense',
      [
        ['rag-dlq-origin', 'a/b'],
        ['rag-dlq-at', 'soon'],
        ['rag-dlq-index', '-1'],
      ],
      '[1]',
    ],
    ['bytes that are no JSON', [['rag-dlq-attempts', '1e9']], 'x'],
    ['ids that are none', [], '{"chunk_id":7,"document_id":""}'],
    ['no value', [], null],
  ] as [string, Headers, string | null][])('with %s is still a letter', (_, headers, value) => {
    expect(letterOf(raw(headers, value))).toMatchObject({
      chunkId: undefined,
      documentId: 'doc',
      origin: undefined,
      index: undefined,
      attempts: undefined,
      atMs: 1_000,
      replays: 0,
    });
  });
});

describe('a letter as it is replayed', () => {
  it('keeps key, value and headers of its producer, and counts', () => {
    const verdict = replayOf(
      letterOf(raw([['mine', '1'], ORIGIN, ['rag-replay-count', '1'], ['rag-replay-origin', 't/2/3']])),
      RULES,
    );
    if (!verdict.ok) throw new Error(verdict.refusal);
    const { topic, message, count } = verdict.replay;
    expect({ topic, partition: message.partition, count, key: String(message.key) }).toEqual({
      topic: 't',
      partition: 2,
      count: 2,
      key: 'doc',
    });
    expect(message.headers?.map(([name, value]) => [name, String(value)])).toEqual([
      ['mine', '1'],
      ['rag-replay-count', '2'],
      ['rag-replay-origin', 't/2/3'],
      ['rag-replay-letter', 't.dlq/0/5'],
      ['rag-replay-at', '1970-01-01T00:00:00.000Z'],
    ]);
  });
  it('elsewhere goes where its key says', () => {
    const verdict = replayOf(letterOf(raw([ORIGIN])), { ...RULES, toTopic: 'other' });
    expect(verdict).toMatchObject({ ok: true, replay: { topic: 'other' } });
    expect(verdict.ok && 'partition' in verdict.replay.message).toBe(false);
  });
  it('about one chunk of a batch by a registered schema goes whole, byte for byte', () => {
    const value = Uint8Array.of(0, 0, 0, 0, 7, 0xff, 1);
    const verdict = replayOf(letterOf(raw([ORIGIN, ['rag-dlq-index', '1']], '', { value })), RULES);
    expect(verdict.ok && verdict.replay.message.value).toEqual(value);
  });

  it('a deletion stays one', () => {
    expect(replayOf(letterOf(raw([ORIGIN], null)), RULES)).toMatchObject({
      ok: true,
      replay: { message: { value: null } },
    });
  });
  it.each([
    ['no-origin', [], '{}'],
    ['too-often', [ORIGIN, ['rag-replay-count', '3']], '{}'],
    ['cut', [ORIGIN, ['rag-dlq-cut', '999']], '{}'],
    ['no-chunk', [ORIGIN, ['rag-dlq-index', '0']], '{"chunks":[]}'],
    ['no-chunk', [ORIGIN, ['rag-dlq-index', '0']], 'no JSON'],
  ] as [string, Headers, string][])('is refused: %s', (refusal, headers, value) => {
    expect(replayOf(letterOf(raw(headers, value)), RULES)).toEqual({ ok: false, refusal });
  });
});

describe('how old a replayed message is', () => {
  const place = { topic: 't', partition: 0, offset: 50n };
  it.each([
    ['its first place counts', 't/0/3', 3n],
    ['a later place does not', 't/0/51', 50n],
    ['another partition does not', 't/1/3', 50n],
    ['another topic does not', 'u/0/3', 50n],
    ['nonsense does not', 't/0/x', 50n],
  ])('%s', (_, origin, offset) => {
    const message = raw([['rag-replay-origin', origin]], undefined, { source: place });
    expect(revisionSource(message).offset).toBe(offset);
    const [decoded] = decodeMessage(
      message,
      { maxTextBytes: 1_000, oversizedText: 'cut', keepUnknownFields: false },
      () => {},
    );
    expect(decoded).toMatchObject({ kind: 'chunk', chunk: { source: { ...place, offset } }, raw: { source: place } });
  });
  it('of a deletion too', () => {
    const message = raw([['rag-replay-origin', 't/0/3']], null, { source: place });
    const [decoded] = decodeMessage(
      message,
      { maxTextBytes: 1_000, oversizedText: 'cut', keepUnknownFields: false },
      () => {},
    );
    expect(decoded).toMatchObject({ kind: 'deletion', deletion: { source: { offset: 3n } } });
  });
  it('places are topic/partition/offset and nothing else', () => {
    expect(parsePosition('a.b/0/9')).toEqual({ topic: 'a.b', partition: 0, offset: 9n });
    for (const text of ['a/0', 'a/0/9/1', 'a/-1/9', '/0/9', 'a b/0/9', undefined])
      expect(parsePosition(text)).toBeUndefined();
  });
});

describe('marks of replayed letters', () => {
  const letter = letterOf(raw([]));
  const mark = { atMs: 42, toTopic: 't' };
  const asRead = ({ key, value }: { key: unknown; value: unknown }) => ({
    key: Buffer.from(String(key)),
    value: value === null ? null : Buffer.from(String(value)),
  });
  it('are read back, for that letter and no other', () => {
    const marks = new RedriveMarks();
    marks.take(asRead(markMessage(letter, mark)));
    expect(marks.of(letter)).toMatchObject(mark);
    expect(marks.of(letterOf(raw([], '{}', { source: { ...letter.position, offset: 6n } })))).toBeUndefined();
    expect(marks.of(letterOf(raw([], '{}', { timestampMs: 1_001 })))).toBeUndefined();
  });
  it('of letters that are gone are removed, and then forgotten', () => {
    const marks = new RedriveMarks();
    marks.take(asRead(markMessage(letter, mark)));
    expect(marks.outlived(new Map([[0, { low: 5n, end: 9n }]]))).toEqual([]);
    expect(marks.outlived(new Map([[1, { low: 9n, end: 9n }]]))).toEqual([]);
    const removals = marks.outlived(new Map([[0, { low: 6n, end: 9n }]]));
    expect(removals).toEqual([{ key: '0/5', value: null }]);
    for (const removal of removals) marks.take(asRead(removal));
    expect(marks.of(letter)).toBeUndefined();
  });
  it('what is no mark is left alone', () => {
    const marks = new RedriveMarks();
    for (const value of ['x', '{}', '{"v":2}', '{"v":1,"letterTimestampMs":"1000","atMs":1,"toTopic":"t"}']) {
      marks.take({ key: Buffer.from('0/5'), value: Buffer.from(value) });
    }
    marks.take({ key: null, value: null });
    expect(marks.of(letter)).toBeUndefined();
  });
});
