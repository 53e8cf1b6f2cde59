/** Graphs of four real vocabularies give the ids, masks and types of Hugging Face's Rust library. The long run is a benchmark. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bgeChineseTokenizer, publishedVocabulary, realTokenizers } from '../../support/real-tokenizers.ts';
import { pairParity, textParity } from '../../support/vocabulary-parity.ts';
import { curatedTexts } from './curated-texts.ts';

const FUZZ = { count: 1_000, seed: 40 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-vocabularies-'));
  // Each is fetched once for all; the first time takes as long as the line does.
  for (const find of Object.values(realTokenizers)) await find(folder);
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

it('there are more than two thousand curated texts, no two the same', () => {
  expect(curatedTexts.length).toBeGreaterThan(2_000);
  expect(new Set(curatedTexts).size).toBe(curatedTexts.length);
});

it('vocabularies are read as they are: the Chinese one is the same from both packages', async () => {
  const { model } = JSON.parse(await readFile(await bgeChineseTokenizer(), 'utf8'));
  const published = await publishedVocabulary('bert_chinese');
  // The package has dropped the line separator, which is a piece of this vocabulary.
  const wanted = Object.entries(model.vocab as Record<string, number>).map(([piece, id]) => [
    id,
    piece.replace('\u2028', ''),
  ]);
  expect(new Map(published.entries())).toEqual(new Map(wanted as [number, string][]));
});

describe.each(Object.entries(realTokenizers))('the graph of %s', (_name, find) => {
  let tokenizer: string;
  beforeAll(async () => {
    tokenizer = await find(folder);
  });

  it('has the same ids for texts, alone and in batches', async () => {
    const result = await textParity(folder, tokenizer, FUZZ);
    expect(result).toEqual({ compared: 2 * curatedTexts.length + FUZZ.count, refused: 0, different: [] });
  });

  it.each([
    ['longest_first', 512],
    ['only_second', 2_048],
  ] as const)('has the same ids for pairs, %s at %d tokens', async (truncation, maxTokens) => {
    const { compared, different } = await pairParity(folder, tokenizer, { truncation, maxTokens }, FUZZ);
    expect({ compared, different }).toEqual({ compared: curatedTexts.length + FUZZ.count, different: [] });
  });
});
