/**
 * Graphs of real vocabularies against Hugging Face's Rust library on 100,000 made-up texts and twice as many pairs each, beside
 * all curated ones. Counts to docs/benchmarks/tokenizer-parity.json; any difference fails. TOKENIZER_FUZZ changes the number.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BertCharacters } from '../../scripts/export-tokenizer/bert-characters.ts';
import { EXTENSIONS_VERSION } from '../../scripts/export-tokenizer/op-library.ts';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { curatedTexts } from '../integration/models/curated-texts.ts';
import { realTokenizers } from '../support/real-tokenizers.ts';
import type { Parity } from '../support/tokenizer-parity.ts';
import { pairParity, textParity } from '../support/vocabulary-parity.ts';

const FUZZ = { count: Number(process.env.TOKENIZER_FUZZ ?? 100_000), seed: 7 };
const LIMIT_MS = 30 * 60_000;
const results: Record<string, Record<string, object>> = {};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-vocabularies-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  const run = {
    of: {
      library: `tokenizers ${BertCharacters.read().library}`,
      operators: `onnxruntime-extensions ${EXTENSIONS_VERSION}`,
    },
    texts: { curated: curatedTexts.length, fuzzed: FUZZ.count, seed: FUZZ.seed },
  };
  const file = join(committedPath('docs/benchmarks'), 'tokenizer-parity.json');
  await writeFile(file, `${JSON.stringify({ ...run, vocabularies: results }, null, 1)}\n`);
});

describe.each(Object.entries(realTokenizers))('%s', (name, find) => {
  let tokenizer: string;
  beforeAll(async () => {
    tokenizer = await find(folder);
    results[name] = {};
  }, LIMIT_MS);

  function record(what: string, { compared, refused, different }: Parity): void {
    results[name]![what] = { compared, refusedByLibrary: refused, different: different.length };
    expect(different).toEqual([]);
  }

  it('texts', async () => record('texts at 512', await textParity(folder, tokenizer, FUZZ)), LIMIT_MS);

  it.each([
    ['longest_first', 512],
    ['only_second', 2_048],
  ] as const)(
    'pairs, %s at %d',
    async (truncation, maxTokens) => {
      const result = await pairParity(folder, tokenizer, { truncation, maxTokens }, FUZZ);
      record(`pairs, ${truncation} at ${maxTokens}`, result);
    },
    LIMIT_MS,
  );
});
