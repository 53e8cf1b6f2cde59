/** The tokenizer of `--backend python`, in a real Triton: for what a graph refuses, and the same ids where it does not. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cacheRoot } from '../../../scripts/stack/cache.ts';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { type RunningTriton, startTriton } from '../../../scripts/stack/triton.ts';
import { resolveModel } from '../../../src/engine/model-source.ts';
import { TextTokenizer } from '../../../src/engine/tokenizer.ts';

const run = promisify(execFile);
const MODELS = ['text_tokenizer', 'pair_tokenizer', 'unigram_tokenizer'];

/** A Unigram model, which no graph follows: pieces with scores, longest path wins. */
const unigram = {
  version: '1.0',
  added_tokens: ['<unk>', '<pad>'].map((content, id) => ({
    ...{ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false },
  })),
  normalizer: { type: 'NFKC' },
  pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
  post_processor: null,
  decoder: null,
  model: {
    type: 'Unigram',
    unk_id: 0,
    vocab: [
      ['<unk>', 0],
      ['<pad>', 0],
      ['▁tide', -1],
      ['▁', -2],
      ['s', -3],
    ],
  },
};

describe('a tokenizer in the python backend', () => {
  let folder: string;
  let triton: RunningTriton | undefined;
  let tokenizer: TextTokenizer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-tokenizer-'));
    const { tokenizerPath } = await resolveModel({ cacheDir: cacheRoot() });
    tokenizer = new TextTokenizer(JSON.parse(await readFile(tokenizerPath, 'utf8')));
    await mkdir(join(folder, 'unigram'));
    await writeFile(join(folder, 'unigram/tokenizer.json'), JSON.stringify(unigram));
    await exported('embedding', tokenizerPath, 'text_tokenizer');
    await exported('reranker', tokenizerPath, 'pair_tokenizer', '--max-length', '64', '--truncation', 'only_second');
    await exported('embedding', join(folder, 'unigram'), 'unigram_tokenizer');
    triton = await startTriton({ modelRepository: join(folder, 'models'), models: MODELS });
  });
  afterAll(async () => {
    await triton?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function exported(type: string, model: string, name: string, ...more: string[]) {
    const main = committedPath('dist/scripts/export-tokenizer/main.js');
    const output = join(folder, 'models', name);
    const flags = ['--model-type', type, '--model', model, '--output-dir', output, '--backend', 'python', ...more];
    return run('node', [main, ...flags]);
  }

  /** Each output as rows. */
  async function infer(model: string, columns: Record<string, readonly string[]>): Promise<Record<string, number[][]>> {
    const inputs = Object.entries(columns).map(([name, data]) => ({
      name,
      shape: [data.length, 1],
      datatype: 'BYTES',
      data,
    }));
    const response = await fetch(`${triton!.httpUrl}/v2/models/${model}/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs }),
      signal: AbortSignal.timeout(30_000),
    });
    const answer = (await response.json()) as { outputs: { name: string; shape: [number, number]; data: number[] }[] };
    return Object.fromEntries(
      answer.outputs.map(({ name, shape: [rows, width], data }) => [
        name,
        Array.from({ length: rows }, (_, row) => data.slice(row * width, (row + 1) * width)),
      ]),
    );
  }

  it('tokenizes texts to the limit of the export, not to the 128 of the file', async () => {
    const texts = ['The harbour waits.', '', 'tide '.repeat(700)];
    const { INPUT_IDS, ATTENTION_MASK, TOKEN_TYPE_IDS } = await infer('text_tokenizer', { TEXT: texts });
    texts.forEach((text, row) => {
      const wanted = tokenizer.encode(text, 512);
      expect(INPUT_IDS![row]).toEqual([...wanted, ...new Array(512 - wanted.length).fill(0)]);
      expect(ATTENTION_MASK![row]!.filter((used) => used === 1).length).toBe(wanted.length);
      expect(TOKEN_TYPE_IDS![row]!.every((type) => type === 0)).toBe(true);
    });
  });

  it('O08: a query that is longer than the window leaves the passage half of it', async () => {
    const { INPUT_IDS, TOKEN_TYPE_IDS } = await infer('pair_tokenizer', {
      QUERY: ['tide '.repeat(600), 'tide'],
      PASSAGE: ['harbour '.repeat(400), 'harbour '.repeat(400)],
    });
    expect(INPUT_IDS!.map((ids) => ids.length)).toEqual([64, 64]);
    // 61 tokens of room: half each, and the last [SEP] is of the passage's type too.
    expect(TOKEN_TYPE_IDS![0]!.filter((type) => type === 1).length).toBe(30 + 1);
    expect(TOKEN_TYPE_IDS![1]!.filter((type) => type === 1).length).toBe(60 + 1);
  });

  it('serves a tokenizer that a graph cannot follow, which is refused by name as a graph', async () => {
    const { INPUT_IDS, ATTENTION_MASK } = await infer('unigram_tokenizer', { TEXT: ['tides', 'tide tide tide'] });
    expect(INPUT_IDS).toEqual([
      [2, 4, 1],
      [2, 2, 2],
    ]);
    expect(ATTENTION_MASK).toEqual([
      [1, 1, 0],
      [1, 1, 1],
    ]);
    const main = committedPath('dist/scripts/export-tokenizer/main.js');
    const flags = [
      '--model-type',
      'embedding',
      '--model',
      join(folder, 'unigram'),
      '--output-dir',
      join(folder, 'graph'),
    ];
    await expect(run('node', [main, ...flags])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ENGINE_MODEL_INVALID.*model is Unigram.*normalizer is NFKC.*--backend python/),
    });
  });
});
