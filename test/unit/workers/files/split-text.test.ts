import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateTokens, splitText } from '../../../../workers/files/split-text.ts';

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const withoutSpace = (text: string) => text.replace(/\s+/g, '');

describe('splitText', () => {
  const sentence = 'The quick brown fox jumps over the lazy dog. ';

  it('keeps a short text whole', () => expect(splitText('One. Two.\n\nThree.')).toEqual(['One. Two.\n\nThree.']));
  for (const blank of ['', ' ', '\n\n\t\n', '\u3000']) {
    it(`gives nothing for ${JSON.stringify(blank)}`, () => expect(splitText(blank)).toEqual([]));
  }

  it('fills chunks up to the target and ends each with a sentence', () => {
    const chunks = splitText(sentence.repeat(100), { targetTokens: 100 });
    expect(chunks.length).toBeGreaterThan(8);
    for (const chunk of chunks) {
      expect(chunk).toMatch(/^The .*dog\.$/);
      expect(estimateTokens(chunk)).toBeLessThanOrEqual(100);
    }
    for (const chunk of chunks.slice(0, -1)) expect(estimateTokens(chunk)).toBeGreaterThan(75);
  });

  it('cuts a sentence that is too long at white space', () => {
    const chunks = splitText('word '.repeat(500), { targetTokens: 49 });
    for (const chunk of chunks) expect(chunk).toMatch(/^(word )*word$/);
    expect(withoutSpace(chunks.join(''))).toBe('word'.repeat(500));
  });

  it('cuts what has no white space between code points', () => {
    const chunks = splitText('😀'.repeat(100), { targetTokens: 7 });
    expect(chunks.map((chunk) => [...chunk].length)).toEqual([...Array<number>(14).fill(7), 2]);
  });

  it('ends Chinese and Japanese sentences at their own full stops', () => {
    const chunks = splitText('今天天气很好。我们去公园散步吧。', { targetTokens: 10 });
    expect(chunks).toEqual(['今天天气很好。', '我们去公园散步吧。']);
  });

  it('takes 1 MB without a full stop in good time', () => {
    const began = performance.now();
    expect(splitText('lorem ipsum '.repeat(87_000)).length).toBeGreaterThan(1_000);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 400 }),
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc
      .array(
        fc.constantFrom(
          'Yes.',
          'A longer sentence, it seems!',
          '漢字です。',
          '😀👩‍👩‍👧',
          '\n\n',
          ' ',
          '# Title\n',
          'x'.repeat(90),
        ),
      )
      .map((parts) => parts.join(' ')),
  );
  it('loses nothing, keeps the order, cuts no code point, keeps to the target', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 40 }), (input, targetTokens) => {
        const chunks = splitText(input, { targetTokens });
        expect(withoutSpace(chunks.join(''))).toBe(withoutSpace(input));
        let from = 0;
        for (const chunk of chunks) {
          expect(chunk.trim()).toBe(chunk);
          expect(chunk).not.toBe('');
          if (!LONE_SURROGATE.test(input)) expect(chunk).not.toMatch(LONE_SURROGATE);
          expect(estimateTokens(chunk)).toBeLessThanOrEqual(targetTokens);
          const at = input.indexOf(chunk, from);
          expect(at).toBeGreaterThanOrEqual(from);
          from = at + chunk.length;
        }
        expect(splitText(input, { targetTokens })).toEqual(chunks);
      }),
      { numRuns: 400 },
    );
  });
});

describe('estimateTokens', () => {
  const cases: [string, number][] = [
    ['', 0],
    ['abcd', 1],
    ['abcde', 2],
    ['漢字', 2],
    ['かな カナ', 5],
    ['한국어', 3],
    ['😀', 1],
    ['naïve', 2],
  ];
  for (const [given, tokens] of cases) {
    it(`${JSON.stringify(given)} is ${tokens}`, () => expect(estimateTokens(given)).toBe(tokens));
  }
});
