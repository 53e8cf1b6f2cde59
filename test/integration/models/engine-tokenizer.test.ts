/** The embedded engine gives texts the ids of Hugging Face's Rust library: the same that the exported graph gives in Triton. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everyCharacter } from '../../../src/engine/bert-characters.ts';
import { TextTokenizer } from '../../../src/engine/tokenizer.ts';
import { libraryIds } from '../../support/library-ids.ts';
import { realTokenizers } from '../../support/real-tokenizers.ts';
import { curatedTexts } from './curated-texts.ts';
import { endlessTexts, fuzzedTexts } from './tokenizer-texts.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-engine-tokenizer-'));
  for (const find of Object.values(realTokenizers)) await find(folder);
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Every character by itself and within a word, many to a text. */
function allCharacters(): string[] {
  const characters = [...everyCharacter()];
  return Array.from({ length: Math.ceil(characters.length / 100) }, (_, at) =>
    characters
      .slice(at * 100, (at + 1) * 100)
      .flatMap((char) => [`a${char}b`, char])
      .join(' '),
  );
}

async function differences(path: string, maxTokens: number, texts: readonly string[]): Promise<object[]> {
  const tokenizer = new TextTokenizer(JSON.parse(await readFile(path, 'utf8')));
  const rows = texts.map((text) => [text]);
  const wanted = await libraryIds(path, maxTokens, rows);
  return texts.flatMap((text, at) => {
    const given = tokenizer.encode(text, maxTokens);
    const { ids } = wanted[at]!;
    if (given.join() === ids.join()) return [];
    return [{ text: text.slice(0, 60), given: given.slice(0, 16), wanted: ids.slice(0, 16) }];
  });
}

it.each(['all-MiniLM-L6-v2', 'bert-base-multilingual-cased'])(
  'every character there is has the ids of the library: %s',
  async (name) => {
    expect(await differences(await realTokenizers[name]!(folder), 2_048, allCharacters())).toEqual([]);
  },
  600_000,
);

describe.each(Object.entries(realTokenizers))('the engine with the tokenizer of %s', (_name, find) => {
  it.each([
    ['curated and endless', () => [...curatedTexts, ...endlessTexts]],
    ['made-up', () => fuzzedTexts(2_000, 60)],
  ] as const)('has the ids of the library: %s texts', async (_what, texts) => {
    expect(await differences(await find(folder), 512, texts())).toEqual([]);
  });
});
