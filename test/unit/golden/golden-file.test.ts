/** The golden file: what is written is read back as it was, and what is damaged is refused by name. */
import { describe, expect, it } from 'vitest';
import { formatGolden, type Golden, parseGolden } from '../../../src/golden/golden-file.ts';
import { defaultPairs, defaultTexts, readPairs, readTexts } from '../../../src/golden/texts.ts';
import { goldenEmbedder, goldenReranker } from './fake-model.ts';

const EMBEDDER = goldenEmbedder({ one: [0.6, 0.8], 'a\u0000b': [1, 0] });
const RERANKER = goldenReranker({ near: 0.9, far: -12.5 });

type File = Record<string, unknown> & { texts: Record<string, unknown>[]; pairs: Record<string, unknown>[] };

function changed(golden: Golden, change: (file: File) => void): string {
  const file = JSON.parse(formatGolden(golden)) as File;
  change(file);
  return JSON.stringify(file);
}

describe('a golden file', () => {
  for (const golden of [EMBEDDER, RERANKER]) {
    it(`of ${golden.kind} is read back as it was written`, () => {
      expect(parseGolden(formatGolden(golden), 'x')).toEqual(golden);
    });
  }

  it('keeps FP32 to the last bit, little-endian', () => {
    const golden = goldenEmbedder({ t: [Math.fround(0.1), -1.401298464324817e-45, 3.4028234663852886e38] });
    const [row] = (JSON.parse(formatGolden(golden)) as File).texts;
    expect(Buffer.from(String(row?.vector), 'base64').readFloatLE(0)).toBe(Math.fround(0.1));
    expect((parseGolden(formatGolden(golden), 'x') as typeof golden).rows[0]?.vector).toEqual(golden.rows[0]?.vector);
  });

  it('refuses to be written with a row that is not finite, and names it', () => {
    expect(() => formatGolden(goldenEmbedder({ good: [1], bad: [Number.NaN] }))).toThrow('row bad');
    expect(() => formatGolden(goldenReranker({ bad: Number.POSITIVE_INFINITY }))).toThrow('bad');
  });

  const damage: { name: string; golden: Golden; change: (file: File) => void; says: string }[] = [
    { name: 'another format', golden: EMBEDDER, change: (file) => (file.format = 'other'), says: 'format' },
    { name: 'a newer version', golden: EMBEDDER, change: (file) => (file.version = 2), says: 'reads version 1' },
    { name: 'an unknown kind', golden: EMBEDDER, change: (file) => (file.kind = 'other'), says: 'kind' },
    { name: 'a field too many', golden: EMBEDDER, change: (file) => (file.extra = 1), says: 'extra' },
    { name: 'no texts', golden: EMBEDDER, change: (file) => (file.texts = []), says: 'texts' },
    { name: 'no fingerprint field', golden: EMBEDDER, change: (file) => delete file.fingerprint, says: 'fingerprint' },
    { name: 'a strange precision', golden: EMBEDDER, change: (file) => (file.precision = 'INT8'), says: 'precision' },
    { name: 'dims of zero', golden: EMBEDDER, change: (file) => (file.dims = 0), says: 'dims' },
    {
      name: 'dims that do not fit',
      golden: EMBEDDER,
      change: (file) => (file.dims = 3),
      says: 'row one: 2 dimensions',
    },
    { name: 'no base64', golden: EMBEDDER, change: (file) => (file.texts[0]!.vector = '*'), says: 'texts.0.vector' },
    {
      name: 'a vector cut short',
      golden: EMBEDDER,
      change: (file) => (file.texts[0]!.vector = 'AAAA'),
      says: 'row one',
    },
    { name: 'a vector of NaN', golden: EMBEDDER, change: (file) => (file.texts[0]!.vector = NAN), says: 'not finite' },
    { name: 'a damaged vector', golden: EMBEDDER, change: (file) => (file.texts[0]!.norm = 1.2), says: 'damaged' },
    { name: 'a label twice', golden: EMBEDDER, change: (file) => (file.texts[1]!.label = 'row one'), says: 'twice' },
    { name: 'a label with a text', golden: EMBEDDER, change: (file) => (file.texts[1]!.label = '<b>'), says: 'label' },
    {
      name: 'a score of null',
      golden: RERANKER,
      change: (file) => (file.pairs[0]!.score = null),
      says: 'pairs.0.score',
    },
    {
      name: 'a pair without passage',
      golden: RERANKER,
      change: (file) => delete file.pairs[0]!.passage,
      says: 'passage',
    },
    {
      name: 'a strange date',
      golden: EMBEDDER,
      change: (file) => Object.assign(file.producer as object, { at: 'now' }),
      says: 'at',
    },
  ];
  for (const { name, golden, change, says } of damage) {
    it(`with ${name} is refused`, () => {
      expect(() => parseGolden(changed(golden, change), 'g.json')).toThrow(
        expect.objectContaining({
          code: 'ARGUMENT_INVALID',
          message: expect.stringMatching(RegExp(`g\\.json.*${says}`)),
        }),
      );
    });
  }

  for (const text of ['', '{', '[]', 'null', '7']) {
    it(`${JSON.stringify(text)} is none`, () => {
      expect(() => parseGolden(text, 'g.json')).toThrow('no golden file');
    });
  }

  it('tells of five problems and counts the rest, without a text', () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`secret ${i}`, [1, 0]]));
    const json = changed(goldenEmbedder(many), (file) => {
      for (const row of file.texts) Object.assign(row, { label: '!', tokens: 'secret' });
    });
    expect(() => parseGolden(json, 'g')).toThrow(/and 13 more/);
    expect(() => parseGolden(json, 'g')).not.toThrow(/secret/);
  });
});

/** Two FP32 values of NaN. */
const NAN = Buffer.from(new Float32Array([Number.NaN, Number.NaN]).buffer).toString('base64');

describe('the texts of the package', () => {
  it('fit into one batch of the smallest pool, with labels of their own that the file takes', () => {
    expect(defaultTexts.length).toBeLessThanOrEqual(32);
    expect(defaultPairs.length).toBeLessThanOrEqual(32);
    const vectors = defaultTexts.map((row) => ({ ...row, vector: Float32Array.of(1) }));
    expect(() => parseGolden(formatGolden({ ...EMBEDDER, dims: 1, rows: vectors }), 'x')).not.toThrow();
    const scores = defaultPairs.map((row) => ({ ...row, score: 1 }));
    expect(() => parseGolden(formatGolden({ ...RERANKER, rows: scores }), 'x')).not.toThrow();
  });

  it('hold what goes wrong in silence: nothing, one letter, beyond the window, NUL, special tokens, many scripts', () => {
    const texts = defaultTexts.map(({ text }) => text);
    expect(texts).toContain('');
    expect(Math.max(...texts.map((text) => text.split(' ').length))).toBeGreaterThan(512);
    expect(texts.filter((text) => text.includes('\u0000'))).toHaveLength(1);
    for (const script of ['Han', 'Hangul', 'Cyrillic', 'Arabic', 'Devanagari', 'Hiragana']) {
      expect(
        texts.some((text) => RegExp(`\\p{Script=${script}}`, 'u').test(text)),
        script,
      ).toBe(true);
    }
    expect(texts.some((text) => text.includes('[CLS]') && text.includes('[SEP]'))).toBe(true);
  });

  it('no text is the start of another, so that no row can pass for its neighbour', () => {
    const texts = defaultTexts.map(({ text }) => text).filter((text) => text.trim().length > 1);
    for (const text of texts) expect(texts.filter((other) => other.startsWith(text))).toEqual([text]);
  });
});

describe('own texts', () => {
  it('take their labels or are numbered; blank lines are left out', () => {
    expect(readTexts('{"text":"a","label":"first"}\n\n{"text":""}\n', 'x')).toEqual([
      { label: 'first', text: 'a' },
      { label: 'text 1', text: '' },
    ]);
    expect(readPairs('{"query":"q","passage":"p"}', 'x')).toEqual([{ label: 'pair 0', query: 'q', passage: 'p' }]);
  });

  const wrong: { name: string; ndjson: string; says: string }[] = [
    { name: 'no JSON', ndjson: '{"text":"a"}\n{', says: 'x:2' },
    { name: 'a number', ndjson: '{"text":7}', says: 'x:1' },
    { name: 'a field too many', ndjson: '{"text":"a","vector":[]}', says: 'x:1' },
    { name: 'a label with a line break', ndjson: '{"text":"a","label":"b\\nc"}', says: 'x:1' },
    { name: 'a label twice', ndjson: '{"text":"a","label":"b"}\n{"text":"c","label":"b"}', says: 'label b twice' },
    { name: 'nothing', ndjson: '\n', says: '0 lines' },
    { name: 'too many', ndjson: '{"text":"a"}\n'.repeat(1_025), says: '1025 lines' },
  ];
  for (const { name, ndjson, says } of wrong) {
    it(`${name} is refused`, () => expect(() => readTexts(ndjson, 'x')).toThrow(says));
  }
});
