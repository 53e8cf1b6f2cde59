/**
 * Bad and odd messages, one table: what is sent, what must be in the store afterwards, what in the dead-letter topic.
 *
 * Ids begin with the case's name, so that one worker can take all of them from one topic. Every text holds SENTINEL, which
 * must turn up nowhere but in the store and in the letters' values.
 */
import type { OutgoingMessage } from '../../../src/kafka/producer.ts';

export const SENTINEL = 'SENTINEL';

/** What the engine does to a text that holds the marker. */
export const FAULTS = {
  'make-nan': 'nan',
  'make-inf': 'inf',
  'make-zero': 'zero',
  'make-refused': 'invalid-argument',
  'make-internal': 'internal',
} as const;

export type ExpectedLetter = {
  readonly code: string;
  readonly stage: 'decode' | 'embed' | 'persist';
  readonly says: RegExp;
  /** Position in its batch message; absent for a message of its own. */
  readonly index?: number;
};

export type BadInput = {
  readonly name: string;
  readonly messages: readonly OutgoingMessage[];
  /** Chunk id to the text that must be stored, after all messages of all cases. */
  readonly stored: Readonly<Record<string, string>>;
  /** Ids that must not be there. */
  readonly absent?: readonly string[];
  readonly letters: readonly ExpectedLetter[];
};

export const text = (about: string) => `${SENTINEL} ${about}`;

function raw(value: string | Buffer | null, key: string | null = 'doc'): OutgoingMessage {
  return { key, value };
}

function batch(document: string, chunks: readonly object[]): OutgoingMessage {
  return raw(JSON.stringify({ document_id: document, chunks }), document);
}

function chunks(prefix: string, texts: readonly string[]): { chunk_id: string; text: string }[] {
  return texts.map((one, index) => ({ chunk_id: `${prefix}#${index}`, text: one }));
}

function storedOf(prefix: string, texts: readonly string[], but: readonly number[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.flatMap((one, index) => (but.includes(index) ? [] : [[`${prefix}#${index}`, one] as const])),
  );
}

const plain = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => text(`${prefix} number ${i}`));

export const invalid = (says: RegExp, index?: number): ExpectedLetter => ({
  code: 'CHUNK_INVALID',
  stage: 'decode',
  says,
  ...(index === undefined ? {} : { index }),
});
const blank = (index?: number): ExpectedLetter => ({
  ...invalid(/^text: nothing but white space/, index),
  code: 'CHUNK_BLANK',
});

/** A batch of `size` in which the chunk at `at` holds the marker of an engine fault. */
function spoilt(name: string, id: string, marker: string, size: number, at: number, code: string): BadInput {
  const texts = plain(id, size);
  texts[at] = `${texts[at]} ${marker}`;
  return {
    name,
    messages: [batch(id, chunks(id, texts))],
    stored: storedOf(id, texts, [at]),
    absent: [`${id}#${at}`],
    letters: [{ code, stage: 'embed', says: /./, index: at }],
  };
}

const NUL = '\u0000';
const nulTexts = plain('p03', 10).map((one, i) => (i === 4 ? text(`a${NUL}b`) : one));
const blanks = [text('ok1'), '', '   ', '\n\n\n', text('ok2'), ''];
const long = text('好'.repeat(67_337));
const unbroken = `${SENTINEL}${'x'.repeat(1_048_576 - SENTINEL.length)}`;
const cutTo = (whole: string, bytes: number) =>
  Buffer.from(whole)
    .subarray(0, bytes)
    .toString()
    .replace(/\ufffd+$/, '');
const MAX_TEXT_BYTES = 65_536;

export const badInputs: readonly BadInput[] = [
  {
    name: 'lone surrogate in one chunk does not fail its batch (P01)',
    messages: [
      raw(
        `{"document_id":"p01","chunks":[{"chunk_id":"p01#0","text":"${SENTINEL} cost \\ud83d end"},${plain('p01', 3)
          .map((one, i) => JSON.stringify({ chunk_id: `p01#${i + 1}`, text: one }))
          .join()}]}`,
        'p01',
      ),
    ],
    stored: storedOf('p01', [text('cost \ufffd end'), ...plain('p01', 3)]),
    letters: [],
  },
  {
    name: 'NUL in text, metadata and id is an ordinary character (P03)',
    messages: [
      batch(
        'p03',
        chunks('p03', nulTexts).map((one, i) => ({
          ...one,
          ...(i === 5 ? { metadata: { odd: text(NUL) } } : {}),
          ...(i === 6 ? { chunk_id: `p03${NUL}#6` } : {}),
        })),
      ),
    ],
    stored: { ...storedOf('p03', nulTexts, [6]), [`p03${NUL}#6`]: nulTexts[6]! },
    letters: [],
  },
  {
    name: 'blank texts are dead-lettered and shift no vector (P05)',
    messages: [batch('p05', chunks('p05', blanks))],
    stored: storedOf('p05', blanks, [1, 2, 3, 5]),
    absent: ['p05#1', 'p05#2', 'p05#3', 'p05#5'],
    letters: [blank(1), blank(2), blank(3), blank(5)],
  },
  {
    name: 'a batch of nothing but blanks (P05)',
    messages: [batch('p05b', chunks('p05b', ['', ' ', '\t'])), raw('{"chunk_id":"p05c","text":"\\u3000"}')],
    stored: {},
    absent: ['p05b#0', 'p05c'],
    letters: [blank(0), blank(1), blank(2), blank()],
  },
  {
    name: 'integer ids above 2^53 are both rejected, not rounded into one (P07)',
    messages: [
      raw(`{"chunk_id":9007199254740993,"text":"${text('one')}"}`),
      raw(`{"chunk_id":9007199254740992,"text":"${text('two')}"}`),
    ],
    stored: {},
    absent: ['9007199254740993', '9007199254740992'],
    letters: [invalid(/^chunk_id: expected a string .*got a number$/), invalid(/^chunk_id: .*got a number$/)],
  },
  {
    name: 'the same id twice in one batch ends as the later one (P12)',
    messages: [
      batch('p12', [
        { chunk_id: 'p12-d', text: text('old') },
        ...chunks('p12', plain('p12', 3)),
        { chunk_id: 'p12-d', text: text('new') },
      ]),
    ],
    stored: { 'p12-d': text('new'), ...storedOf('p12', plain('p12', 3)) },
    letters: [],
  },
  {
    name: 'texts of 67,337 and 1,048,576 characters are cut at a code point, the short ones beside and behind them are not (P13, K12)',
    messages: [
      batch('p13', chunks('p13', [text('short'), long, text('short too'), text('short three')])),
      raw(JSON.stringify({ chunk_id: 'p13-unbroken', text: unbroken }), 'p13'),
    ],
    stored: {
      ...storedOf('p13', [text('short'), cutTo(long, MAX_TEXT_BYTES), text('short too'), text('short three')]),
      'p13-unbroken': cutTo(unbroken, MAX_TEXT_BYTES),
    },
    letters: [],
  },
  {
    name: 'each malformed value is one letter that names the field, and the good ones between are stored (P14)',
    messages: [
      raw('{}'),
      raw('{"chunk_id":"p14-x"}'),
      raw(`{"text":"${text('no id')}"}`),
      raw(JSON.stringify({ chunk_id: 'p14-1', text: text('good one') })),
      raw(`{"chunk_id":null,"text":"${text('null id')}"}`),
      raw(`{"chunk_id":"","text":"${text('empty id')}"}`),
      raw('[]'),
      raw(`"${text('a string')}"`),
      raw('null'),
      raw('42'),
      raw(JSON.stringify({ chunk_id: 'p14-2', text: text('good two') })),
      raw('{"chunk_id":"p14-x","text":5}'),
      raw(`{"chunk_id":{"a":1},"text":"${text('object id')}"}`),
      raw(`{"chunk_id":"p14-a","chunk_id":"p14-b","text":"${text('last key wins')}"}`),
      raw('['.repeat(200_000) + ']'.repeat(200_000)),
      raw(`{"chunk_id":"p14-x","text":"${SENTINEL}","metadata":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`),
      raw(`${SENTINEL} is no JSON`),
      raw(
        Buffer.concat([Buffer.from(`{"chunk_id":"p14-x","text":"${SENTINEL} `), Buffer.from([0xff, 0xfe, 0x22, 0x7d])]),
      ),
      raw(JSON.stringify({ chunk_id: 'p14-3', text: text('good three') })),
    ],
    stored: {
      'p14-1': text('good one'),
      'p14-2': text('good two'),
      'p14-3': text('good three'),
      'p14-b': text('last key wins'),
    },
    absent: ['p14-x', 'p14-a'],
    letters: [
      invalid(/^chunk_id: .*got nothing$/),
      invalid(/^text: .*got nothing$/),
      invalid(/^chunk_id: .*got nothing$/),
      invalid(/^chunk_id: .*got null$/),
      invalid(/^chunk_id: .*got a string of 0 bytes$/),
      invalid(/^value: expected a JSON object, got an array of 0$/),
      invalid(/^value: .*got a string of 17 bytes$/),
      invalid(/^value: .*got null$/),
      invalid(/^value: .*got a number$/),
      invalid(/^text: expected a string, got a number$/),
      invalid(/^chunk_id: .*got an object of 1 fields$/),
      invalid(/^value: /),
      invalid(/^(value|metadata): /),
      invalid(/^value: not JSON/),
      invalid(/^value: not valid UTF-8/),
    ],
  },
  spoilt('a vector with NaN reaches no store (T10)', 't10-nan', 'make-nan', 4, 1, 'VECTOR_NOT_FINITE'),
  spoilt('a vector with infinity reaches no store (T10)', 't10-inf', 'make-inf', 4, 1, 'VECTOR_NOT_FINITE'),
  spoilt('a vector of zeros reaches no store (T10)', 't10-zero', 'make-zero', 4, 1, 'VECTOR_ZERO'),
  spoilt(
    'one text that the model refuses costs none of its batch (T20)',
    't20',
    'make-refused',
    16,
    5,
    'INFERENCE_REJECTED',
  ),
  spoilt(
    'one text that makes the model fail costs none of its batch (T20)',
    't20i',
    'make-internal',
    16,
    15,
    'INFERENCE_FAILED',
  ),
  {
    name: 'a refused chunk that is a message of its own has no index',
    messages: [raw(JSON.stringify({ chunk_id: 'single', text: text('make-refused') }))],
    stored: {},
    absent: ['single'],
    letters: [{ code: 'INFERENCE_REJECTED', stage: 'embed', says: /./ }],
  },
  {
    name: 'fifty bad values do not hold up the good one behind them (K18)',
    messages: [
      ...Array.from({ length: 50 }, (_, i) => raw(`{"chunk_id":"k18-bad-${i}"}`)),
      raw(JSON.stringify({ chunk_id: 'k18', text: text('behind fifty') })),
    ],
    stored: { k18: text('behind fifty') },
    letters: Array.from({ length: 50 }, () => invalid(/^text: /)),
  },
];
