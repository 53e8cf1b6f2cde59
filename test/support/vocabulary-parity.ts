/** The whole comparison of one vocabulary: texts, then pairs cut both ways, alone and in batches. */
import { curatedTexts } from '../integration/models/curated-texts.ts';
import { fuzzedTexts } from '../integration/models/tokenizer-texts.ts';
import { graphParity, inBatches, type Parity } from './tokenizer-parity.ts';

export type Fuzz = {
  /** How many made-up texts, and as many made-up pairs. */
  readonly count: number;
  readonly seed: number;
};

/** Each curated text alone and all texts in batches of 64, cut at 512 tokens. */
export function textParity(folder: string, tokenizer: string, { count, seed }: Fuzz): Promise<Parity> {
  const texts = [...curatedTexts, ...fuzzedTexts(count, seed)];
  const kind = { modelType: 'embedding', maxTokens: 512, truncation: 'longest_first', tokenizer } as const;
  return graphParity(folder, kind, inBatches(texts, curatedTexts.length, 64));
}

/** Each text with another one, in batches of 32. */
export function pairParity(
  folder: string,
  tokenizer: string,
  cut: { readonly truncation: 'longest_first' | 'only_second'; readonly maxTokens: number },
  { count, seed }: Fuzz,
): Promise<Parity> {
  const texts = [...curatedTexts, ...fuzzedTexts(count, seed + 1)];
  const rows = texts.map((query, at) => [query, texts[(at * 7 + 3) % texts.length]!] as const);
  return graphParity(folder, { modelType: 'reranker', tokenizer, ...cut }, inBatches(rows, 0, 32));
}
