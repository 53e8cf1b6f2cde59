/**
 * The texts that a model is tried with, as token ids.
 *
 * Lengths run from 8 tokens to the model's window, since FP16 goes wrong first where sums are long; with them the empty
 * text, one far longer than the window, and other scripts. The same texts alone and together in a batch of 64.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { ServingError } from '../../../src/errors.ts';
import type { ModelType } from '../../model-config/tensor-contract.ts';

export type Sequence = { readonly ids: readonly number[]; readonly types: readonly number[] };

export type Batch = { readonly name: string; readonly sequences: readonly Sequence[] };

export type SequenceOptions = { readonly type: ModelType; readonly maxTokens: number };

const LENGTHS = [8, 16, 32, 64, 128, 256, 384, 512];
const BATCH_ROWS = 64;
const LONG_WORDS = 800;

const PROSE =
  `When the harbour freezes, the ferries stop and the island keeps its own time. Nobody minds for the first week; there
is bread, there is firewood, and the radio reports the same three facts every hour. In the second week people begin to walk out on
the ice to look at it. A pilot measured 41 centimetres near the lighthouse (12 more than in 1987), wrote the number on a piece of
wood and left it standing there, as a warning or as a record: opinions differ. `.replaceAll('\n', ' ');
const OTHERS = [
  'Größere Häfen frieren selten zu — außer in sehr kalten Wintern.',
  '港が凍るとフェリーは止まります。机器学习很有趣。',
  'Когда гавань замерзает, паромы не ходят.',
  'عندما يتجمد الميناء تتوقف العبّارات.',
  'x = [i ** 2 for i in range(10)]; assert sum(x) == 285  # 3.14 % <tag> 🚢',
];
const QUERY = 'how thick is the ice in the harbour?';

/** Reads tokenizer.json of the model's folder. Throws ENGINE_MODEL_INVALID for a kind that cannot be run here. */
export async function openTokenizer(folder: string): Promise<Tokenizer> {
  const path = join(folder, 'tokenizer.json');
  try {
    return new Tokenizer(JSON.parse(await readFile(path, 'utf8')), {});
  } catch (cause) {
    throw new ServingError('ENGINE_MODEL_INVALID', `${path} is no tokenizer that @huggingface/tokenizers can run`, {
      cause,
    });
  }
}

export function trialBatches(tokenizer: Tokenizer, options: SequenceOptions): Batch[] {
  const encode = (text: string, length: number) =>
    options.type === 'reranker'
      ? sequenceOf(tokenizer, QUERY, text, length).sequence
      : sequenceOf(tokenizer, text, undefined, length).sequence;
  const lengths = LENGTHS.filter((length) => length <= options.maxTokens);
  const prose = (length: number, from: number) => encode(rotated(from).repeat(1 + Math.ceil(length / 100)), length);
  const alone = [
    ...lengths.map((length) => ({ name: `${length} tokens`, sequences: [prose(length, 0)] })),
    { name: 'empty text', sequences: [encode('', options.maxTokens)] },
    { name: 'text longer than the window', sequences: [encode('ice and wood '.repeat(LONG_WORDS), options.maxTokens)] },
  ];
  const mixed = Array.from({ length: BATCH_ROWS }, (_, row) => {
    if (row === 0) return encode('', options.maxTokens);
    if (row <= OTHERS.length) return encode(OTHERS[row - 1]!, options.maxTokens);
    return prose(lengths[row % lengths.length]!, row);
  });
  return [...alone, { name: `batch of ${BATCH_ROWS}, lengths mixed`, sequences: mixed }];
}

/** The prose begun at another word, so that no two rows of a batch are alike. */
function rotated(words: number): string {
  const all = PROSE.split(' ');
  const from = words % all.length;
  return [...all.slice(from), ...all.slice(0, from), ''].join(' ');
}

/** `tokens`: before the cut. Of a pair the second part is cut, so it must be the longer one. */
export function sequenceOf(
  tokenizer: Tokenizer,
  text: string,
  pair: string | undefined,
  length: number,
): { readonly sequence: Sequence; readonly tokens: number } {
  const second = pair === undefined ? {} : { text_pair: pair };
  const encoded = tokenizer.encode(text, { ...second, return_token_type_ids: true });
  const types = encoded.token_type_ids ?? encoded.ids.map(() => 0);
  return { sequence: { ids: cut(encoded.ids, length), types: cut(types, length) }, tokens: encoded.ids.length };
}

/** The special token at the end stays at the end. */
function cut(values: readonly number[], length: number): readonly number[] {
  return values.length <= length ? values : [...values.slice(0, length - 1), values.at(-1)!];
}
