import { Tokenizer } from '@huggingface/tokenizers';
import { describe, expect, it } from 'vitest';
import { TextTokenizer, truncateLongestFirst } from '../../../src/engine/tokenizer.ts';
import { isServingError } from '../../../src/errors.ts';

const words = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'a', 'b', 'c', '##c', 'word', '.', ','];
const CLS = 2;
const SEP = 3;
const special = (id: number) => ({
  id,
  content: words[id]!,
  special: true,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
});

/** As small as a BERT tokenizer gets; truncation and padding are set as in the real file, and must not count. */
const json = {
  version: '1.0',
  truncation: { max_length: 4, strategy: 'LongestFirst', stride: 0 },
  padding: { strategy: { Fixed: 4 }, direction: 'Right', pad_id: 0, pad_type_id: 0, pad_token: '[PAD]' },
  added_tokens: [special(0), special(1), special(CLS), special(SEP)],
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
    ],
    pair: [],
    special_tokens: {
      '[CLS]': { id: '[CLS]', ids: [CLS], tokens: ['[CLS]'] },
      '[SEP]': { id: '[SEP]', ids: [SEP], tokens: ['[SEP]'] },
    },
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(words.map((word, id) => [word, id])),
  },
};
const tokenizer = new TextTokenizer(json);

describe('TextTokenizer.encode', () => {
  it('puts the special tokens around the ids, and nothing else around an empty text', () => {
    expect(tokenizer.encode('A bc.', 512)).toEqual([CLS, 4, 5, 7, 9, SEP]);
    expect(tokenizer.encode('', 512)).toEqual([CLS, SEP]);
    expect(tokenizer.encode(' \n\t ', 512)).toEqual([CLS, SEP]);
  });

  it('cuts at the limit asked for, not at that of tokenizer.json', () => {
    expect(tokenizer.encode('a '.repeat(1000), 512)).toEqual([CLS, ...Array(510).fill(4), SEP]);
    expect(tokenizer.encode('a a a a a a', 4)).toEqual([CLS, 4, 4, SEP]);
  });

  it('survives what no language writes: NUL, a lone surrogate, a word of a million characters (P03, P01, P13)', () => {
    expect(tokenizer.encode('a\u0000 b', 512)).toEqual([CLS, 4, 5, SEP]);
    expect(tokenizer.encode('a \ud83d b', 512)).toEqual([CLS, 4, 5, SEP]);
    expect(tokenizer.encode('x'.repeat(1_048_576), 512)).toEqual([CLS, 1, SEP]);
  });

  it('gives a long text the ids of its whole, although it reads only the front (P13)', () => {
    const whole = new Tokenizer(json, {});
    const makers: ((i: number) => string)[] = [
      () => 'word ',
      (i) => `${'abc'.charAt(i % 3)}${i % 7 === 0 ? '\n' : ' '}`,
      (i) => (i % 50 === 0 ? ' ' : 'x'),
      (i) => `${'y'.repeat(9000)}${i % 2 ? ' ' : '\n'}a `,
      () => '你,',
      (i) => `好${'abc'.charAt(i % 3).repeat(1 + (i % 4))}\u0301`,
    ];
    for (const [n, make] of makers.entries()) {
      const text = Array.from({ length: n === 3 ? 12 : 30_000 }, (_, i) => make(i)).join('');
      const expected = whole.encode(text, { add_special_tokens: false }).ids.slice(0, 510);
      expect(tokenizer.encode(text, 512)).toEqual([CLS, ...expected, SEP]);
    }
  });
});

describe('what @huggingface/tokenizers by itself does otherwise', () => {
  // Node's tables know U+061D as punctuation and U+0890 as a format character; those of models are older.
  it.each([
    ['a Chinese character outside the first plane is a word', 'a𠀀b', [4, 1, 5]],
    ['punctuation that came later is a letter', 'a\u061db', [1]],
    ['a format character that came later stays', 'a\u0890', [1]],
    ['text that looks like a special token once cleaned is none', '[C\u200bLS]', [1, 1, 1]],
  ])('%s', (_, text, ids) => {
    expect(tokenizer.encode(text, 512)).toEqual([CLS, ...ids, SEP]);
  });

  it('where Chinese characters are no words, a long text is not cut at them', () => {
    const kept = { ...json, normalizer: { ...json.normalizer, handle_chinese_chars: false } };
    const text = '海'.repeat(20_000);
    expect(new TextTokenizer(kept).encode(text, 512)).toEqual([CLS, 1, SEP]);
    expect(tokenizer.encode(text, 512)).toHaveLength(512);
  });
});

describe('TextTokenizer.encodePair', () => {
  it('leaves three places for special tokens', () => {
    const { a, b } = tokenizer.encodePair('a '.repeat(20), 'b '.repeat(20), 13);
    expect([a.length, b.length]).toEqual([5, 5]);
  });

  it('keeps a passage whole beside a long query while it fits in half of the window (O08)', () => {
    const { a, b } = tokenizer.encodePair('a '.repeat(5000), 'b '.repeat(200), 512);
    expect([a.length, b.length]).toEqual([309, 200]);
    expect(tokenizer.encodePair('a '.repeat(600), 'b '.repeat(600), 512).b).toHaveLength(255);
  });
});

describe('truncateLongestFirst', () => {
  const ids = (n: number) => Array.from({ length: n }, (_, i) => i);
  const cases: [string, number, number, number, number, number][] = [
    ['both fit', 3, 4, 7, 3, 4],
    ['only the second is long', 3, 100, 10, 3, 7],
    ['only the first is long', 100, 3, 10, 7, 3],
    ['both are long, even room', 100, 90, 10, 5, 5],
    ['the odd place goes to the longer side', 100, 90, 11, 6, 5],
    ['the odd place goes to the second of equal sides', 50, 50, 11, 5, 6],
    ['an empty side', 0, 100, 10, 0, 10],
  ];
  for (const [name, a, b, room, keepA, keepB] of cases) {
    it(name, () => {
      const cut = truncateLongestFirst({ a: ids(a), b: ids(b) }, room);
      expect([cut.a.length, cut.b.length]).toEqual([keepA, keepB]);
    });
  }
});

describe('a tokenizer of another kind', () => {
  const others: [string, object][] = [
    ['BPE', { ...json, model: { ...json.model, type: 'BPE' } }],
    ['byte-level words', { ...json, pre_tokenizer: { type: 'ByteLevel' } }],
    ['another normalizer', { ...json, normalizer: { type: 'NFKC' } }],
    [
      'added tokens that are matched after normalizing',
      { ...json, added_tokens: [{ ...special(0), normalized: true }] },
    ],
    ['no template', { ...json, post_processor: null }],
    ['not a tokenizer', { hello: 1 }],
  ];
  for (const [name, other] of others) {
    it(`is refused by name: ${name}`, () => {
      try {
        new TextTokenizer(other);
        expect.unreachable();
      } catch (error) {
        expect(isServingError(error, 'ENGINE_MODEL_INVALID')).toBe(true);
        expect((error as Error).message).toContain('tokenizer.json is not supported at');
      }
    });
  }
});
