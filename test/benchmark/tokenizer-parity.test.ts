/**
 * Graphs of real vocabularies against Hugging Face's Rust library on 100,000 made-up texts and twice as many pairs each, beside
 * all curated ones. Counts to docs/benchmarks/tokenizer-parity.json; any difference fails. TOKENIZER_FUZZ changes the number.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXTENSIONS_VERSION } from '../../scripts/export-tokenizer/op-library.ts';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { BertCharacters } from '../../src/engine/bert-characters.ts';
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
afterAll(() => rm(folder, { recursive: true, force: true }));

/** After each comparison, so that a long run that is broken off leaves what it has. */
async function writeResults(): Promise<void> {
  const run = {
    of: {
      library: `tokenizers ${new BertCharacters().library}`,
      operators: `onnxruntime-extensions ${EXTENSIONS_VERSION}`,
    },
    texts: { curated: curatedTexts.length, fuzzed: FUZZ.count, seed: FUZZ.seed },
  };
  const file = join(committedPath('docs/benchmarks'), 'tokenizer-parity.json');
  await writeFile(file, `${JSON.stringify({ ...run, vocabularies: results }, null, 1)}\n`);
}

describe.each(Object.entries(realTokenizers))('%s', (name, find) => {
  let tokenizer: string;
  beforeAll(async () => {
    tokenizer = await find(folder);
    results[name] = {};
  }, LIMIT_MS);

  async function record(what: string, { compared, refused, different }: Parity): Promise<void> {
    results[name]![what] = { compared, refusedByLibrary: refused, different: different.length };
    await writeResults();
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
      await record(`pairs, ${truncation} at ${maxTokens}`, result);
    },
    LIMIT_MS,
  );
});
