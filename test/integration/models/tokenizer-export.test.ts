/** Exported tokenizer graphs give what Hugging Face's Rust library gives: ids, masks and types, to the last one. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorLibrary } from '../../../scripts/export-tokenizer/op-library.ts';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { tritonPython } from '../../../scripts/stack/triton-install.ts';
import { bertCharacterSets } from '../../../src/engine/bert-character-sets.ts';
import { everyCharacter } from '../../../src/engine/bert-characters.ts';
import { miniLmTokenizer } from '../../support/real-tokenizers.ts';
import {
  type GraphKind,
  graphParity,
  inBatches,
  type ParitySpec,
  tokenizerParity,
} from '../../support/tokenizer-parity.ts';
import { COMMIT, startHub } from '../../unit/scripts/export-onnx/hub-server.ts';
import { disputedTexts, endlessTexts, fuzzedTexts } from './tokenizer-texts.ts';

const run = promisify(execFile);
/** Made-up texts for each graph; a long run sets more. */
const FUZZED = Number(process.env.TOKENIZER_FUZZ ?? 1_000);
const SEED = 20;

describe('an exported tokenizer', () => {
  let folder: string;
  let library: string;
  let miniLm: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-tokenizer-'));
    library = await operatorLibrary(() => undefined);
    miniLm = await miniLmTokenizer();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  type Wanted = Omit<GraphKind, 'tokenizer'> & { readonly tokenizer?: string };
  const parity = (batches: ParitySpec['batches'], wanted: Wanted) =>
    graphParity(folder, { tokenizer: miniLm, ...wanted }, batches);

  const text = { modelType: 'embedding', maxTokens: 512, truncation: 'longest_first' } as const;

  /** What is fetched from the hub of this test must not stay in the user's cache. */
  async function cacheWithLibrary(): Promise<string> {
    const cache = join(folder, 'cache');
    await cp(dirname(library), join(cache, basename(dirname(library))), { recursive: true });
    return cache;
  }

  it('has the same ids for texts, alone and in batches of 64, as the command writes it of a model on a hub', async () => {
    const output = join(folder, 'text_tokenizer');
    const main = committedPath('dist/scripts/export-tokenizer/main.js');
    const hub = await startHub(new Map([['tokenizer.json', await readFile(miniLm)]]));
    const env = { ...process.env, HF_ENDPOINT: hub.endpoint, HF_TOKEN: 'hf_secret' };
    const from = ['--model', 'owner/minilm', '--revision', COMMIT];
    const { stdout } = await run('node', [main, '--model-type', 'embedding', ...from, '--output-dir', output], {
      env: { ...env, RAG_SERVING_CACHE_DIR: await cacheWithLibrary() },
    }).finally(hub.close);
    expect(stdout).toBe(`${output}/manifest.json\n`);
    const { source } = JSON.parse(await readFile(join(output, 'manifest.json'), 'utf8'));
    expect(source).toEqual({ model: 'owner/minilm', revision: COMMIT });
    const texts = [...disputedTexts, ...fuzzedTexts(FUZZED, SEED)];
    const spec = { tokenizer: miniLm, max_tokens: 512, truncation: 'longest_first' } as const;
    const result = await tokenizerParity(
      {
        ...spec,
        library: join(output, 'libonnxruntime_extensions.so'),
        graph: join(output, '1/model.onnx'),
        batches: inBatches(texts, disputedTexts.length, 64),
      },
      join(folder, 'spec.json'),
    );
    expect(result).toEqual({ compared: texts.length + disputedTexts.length, refused: 0, different: [] });
  });

  it('is seen to differ when it does: a limit of 511 is not one of 512', async () => {
    const output = await parity([['tide '.repeat(700), 'short']], { ...text, maxTokens: 511 });
    expect(output.different).toEqual([]);
    const graph = join(folder, 'graph.onnx');
    const spec = { library, graph, tokenizer: miniLm, max_tokens: 512, truncation: 'longest_first' } as const;
    const other = await tokenizerParity({ ...spec, batches: [['tide '.repeat(700)]] }, join(folder, 'spec.json'));
    expect(other.different).toHaveLength(1);
  });

  it('P13: a text without end is cut to the limit like any other, beside short ones', async () => {
    expect(await parity([['short', ...endlessTexts, 'two words']], text)).toEqual({
      compared: 5,
      refused: 0,
      different: [],
    });
  });

  const pairs = [
    ['longest_first', 512],
    ['longest_first', 2_048],
    ['longest_first', 16],
    ['only_second', 512],
    ['only_second', 2_048],
    ['only_second', 16],
  ] as const;
  it.each(pairs)(
    'O08: has the same ids for pairs, %s at %d tokens, long queries included',
    async (truncation, maxTokens) => {
      const texts = [
        ...disputedTexts,
        'tide '.repeat(600),
        'tide '.repeat(5_000),
        ...fuzzedTexts(FUZZED / 2, SEED + 1),
      ];
      const rows = texts.map((query, at) => [query, texts[(at * 7 + 3) % texts.length]!] as const);
      const result = await parity(inBatches(rows, 30, 32), { modelType: 'reranker', maxTokens, truncation });
      expect(result.different).toEqual([]);
      expect(result.compared).toBe(rows.length + 30);
      expect(result.refused > 0).toBe(truncation === 'only_second');
    },
  );

  it('has the same ids for every character there is, by itself and within a word', async () => {
    const characters = [...everyCharacter()];
    const texts = Array.from({ length: Math.ceil(characters.length / 100) }, (_, at) =>
      characters
        .slice(at * 100, (at + 1) * 100)
        .flatMap((char) => [`a${char}b`, char])
        .join(' '),
    );
    const result = await parity(inBatches(texts, 0, 64), { ...text, maxTokens: 2_048 });
    expect(result).toEqual({ compared: texts.length, refused: 0, different: [] });
  });

  const normalizers = [
    { lowercase: false },
    { lowercase: false, strip_accents: true },
    { strip_accents: false },
    { handle_chinese_chars: false },
    { clean_text: false },
  ];
  it.each(normalizers)('has the same ids with another normalizer: %j', async (switches) => {
    const tokenizer = join(folder, 'tokenizer.json');
    const file = JSON.parse(await readFile(miniLm, 'utf8'));
    Object.assign(file.normalizer, switches);
    await writeFile(tokenizer, JSON.stringify(file));
    const texts = [...disputedTexts, ...fuzzedTexts(FUZZED, SEED + 2)];
    const result = await parity(inBatches(texts, 0, 64), { ...text, tokenizer });
    expect(result).toEqual({ compared: texts.length, refused: 0, different: [] });
  });

  it('has the same ids with a vocabulary that many words fall out of half-way', async () => {
    const tokenizer = join(folder, 'tokenizer.json');
    const file = JSON.parse(await readFile(miniLm, 'utf8'));
    const pieces = Object.entries(file.model.vocab as Record<string, number>);
    file.model.vocab = Object.fromEntries(pieces.filter(([piece, id]) => id % 3 === 0 || piece.startsWith('[')));
    await writeFile(tokenizer, JSON.stringify(file));
    const texts = [...disputedTexts, ...fuzzedTexts(FUZZED, SEED + 3)];
    const result = await parity(inBatches(texts, 0, 64), { ...text, tokenizer });
    expect(result).toEqual({ compared: texts.length, refused: 0, different: [] });
  });

  it('the committed sets of characters are those of the Rust library, over all of Unicode', async () => {
    const script = committedPath('scripts/export-tokenizer/bert-characters.py');
    const { stdout } = await run(await tritonPython(), [script], { maxBuffer: 2 ** 24 });
    expect(JSON.parse(stdout)).toEqual(bertCharacterSets);
  });
});
