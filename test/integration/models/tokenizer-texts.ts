/** Texts that tokenizers disagree about, and made-up ones of every script; the same for the same seed. */
import { randomFrom } from '../../chaos/random.ts';
import { diverseTexts } from '../worker/diverse-texts.ts';

const SPECIAL = ['[CLS]', '[SEP]', '[PAD]', '[MASK]', '[UNK]'];
/** Around them a tokenizer's rules end: halves of special tokens, private use, controls, marks, characters of other planes. */
const ODD_PARTS = [
  ...SPECIAL,
  '[',
  'CLS',
  ']',
  'a',
  ' ',
  '\ue001',
  '\ue000',
  '\u{10fffd}',
  '\u200b',
  '##ing',
  '[unused1]',
];
const ODD_CHARS = [
  '\0',
  '\0\0',
  'x',
  'ﬁ',
  '\uac00',
  '𠀀',
  'Σ',
  'İ',
  '\u0301',
  '\u0890',
  '\ufffd',
  '\u{e0061}',
  '👩🏽‍💻',
];
const WORDS = ['word', 'tokenization', 'ΟΔΟΣ', 'naïve', '日本語', 'x'.repeat(99), 'é'.repeat(100), 'ж'.repeat(101)];

export const disputedTexts: readonly string[] = [
  ...diverseTexts(),
  ...['', ' ', '\t\n', '\0', '\0\0', 'a\0', '\0a', '[CL\0S]', '[cls] [SEP]a[SEP]', '\ufffd', '\u200b', '𠀀𠀁', 'ΟΔΟΣ'],
  ...['x'.repeat(20_000), 'word '.repeat(3_000), '你好'.repeat(3_000), '! '.repeat(3_000), 'é'.repeat(10_000)],
];

/** P13: far beyond the limit of tokens, with and without blanks. */
export const endlessTexts: readonly string[] = ['a'.repeat(67_337), 'tide '.repeat(13_468), 'b'.repeat(1_048_576)];

export function fuzzedTexts(count: number, seed: number): string[] {
  const random = randomFrom(seed);
  const below = (limit: number) => random.between(0, limit - 1);
  const among = (parts: readonly string[]) => parts[below(parts.length)]!;
  const times = (most: number, part: () => string) => Array.from({ length: 1 + below(most) }, part);
  const scalar = () => {
    const point = below([0x110000, 0x3000, 0x250, 0x10000][below(4)]!);
    return point >= 0xd800 && point <= 0xdfff ? '\ufffd' : String.fromCodePoint(point);
  };
  const letter = () => (below(10) === 0 ? scalar() : among([...' abcdeinorstABCDEINORST,.']));
  const kinds = [
    () => times([1, 3, 10, 40, 200][below(5)]!, scalar).join(''),
    () => times([3, 10, 40, 200][below(4)]!, letter).join(''),
    () => times(20, () => among([...ODD_PARTS, ...ODD_CHARS])).join(''),
    () => times(8, () => among(WORDS)).join(' '),
  ];
  return Array.from({ length: count }, () => kinds[below(kinds.length)]!());
}
