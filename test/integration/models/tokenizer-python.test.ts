/** The tokenizer of `--backend python`, in a real Triton: for what a graph refuses, and the same ids where it does not. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { type RunningTriton, startTriton } from '../../../scripts/stack/triton.ts';
import { tritonPython } from '../../../scripts/stack/triton-install.ts';
import { TextTokenizer } from '../../../src/engine/tokenizer.ts';
import { libraryIds } from '../../support/library-ids.ts';
import { miniLmTokenizer } from '../../support/real-tokenizers.ts';
import { curatedTexts } from './curated-texts.ts';
import { fuzzedTexts } from './tokenizer-texts.ts';

const run = promisify(execFile);
/** Trained here from this repository's prose; no graph follows either. */
const KINDS = {
  bpe: /model is BPE.*normalizer is none.*pre_tokenizer is ByteLevel/,
  unigram: /model is Unigram.*normalizer is Sequence\(Nmt, NFKC\).*pre_tokenizer is Metaspace/,
} as const;
const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
const MODELS = ['text_tokenizer', 'pair_tokenizer', ...kinds.flatMap((kind) => [`${kind}_texts`, `${kind}_pairs`])];

describe('a tokenizer in the python backend', () => {
  let folder: string;
  let triton: RunningTriton | undefined;
  let tokenizer: TextTokenizer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-tokenizer-'));
    const tokenizerPath = await miniLmTokenizer();
    tokenizer = new TextTokenizer(JSON.parse(await readFile(tokenizerPath, 'utf8')));
    await train(folder);
    await exported('embedding', tokenizerPath, 'text_tokenizer');
    await exported('reranker', tokenizerPath, 'pair_tokenizer', '--max-length', '64', '--truncation', 'only_second');
    for (const kind of kinds) {
      await exported('embedding', join(folder, kind), `${kind}_texts`);
      await exported('reranker', join(folder, kind, 'tokenizer.json'), `${kind}_pairs`, '--max-length', '64');
    }
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

  describe.each(kinds)('a trained %s tokenizer', (kind) => {
    const texts = [...curatedTexts.filter((_, at) => at % 20 === 0), ...fuzzedTexts(60, 80)];

    it('has the ids and types of the library, for texts and for pairs', async () => {
      const pairs = texts.map((query, at) => [query, texts[(at * 7 + 3) % texts.length]!]);
      for (const [model, limit, rows, names] of [
        [`${kind}_texts`, 512, texts.map((text) => [text]), ['TEXT']],
        [`${kind}_pairs`, 64, pairs, ['QUERY', 'PASSAGE']],
      ] as const) {
        const wanted = await libraryIds(join(folder, kind, 'tokenizer.json'), limit, rows);
        // In parts, for what the server holds of a batch at most.
        for (let at = 0; at < rows.length; at += 32) {
          const part = rows.slice(at, at + 32);
          const columns = Object.fromEntries(names.map((name, side) => [name, part.map((row) => row[side]!)]));
          const { INPUT_IDS, ATTENTION_MASK, TOKEN_TYPE_IDS } = await infer(model, columns);
          part.forEach((_, row) => {
            const { ids, types } = wanted[at + row]!;
            const used = ATTENTION_MASK![row]!.lastIndexOf(1) + 1;
            expect(INPUT_IDS![row]!.slice(0, used)).toEqual(ids);
            expect(TOKEN_TYPE_IDS![row]!.slice(0, used)).toEqual(types);
          });
        }
      }
    });

    it('is refused by name as a graph', async () => {
      const main = committedPath('dist/scripts/export-tokenizer/main.js');
      const flags = ['--model-type', 'embedding', '--model', join(folder, kind), '--output-dir', join(folder, 'graph')];
      const stderr = expect.stringMatching(new RegExp(`ENGINE_MODEL_INVALID.*${KINDS[kind].source}.*--backend python`));
      await expect(run('node', [main, ...flags])).rejects.toMatchObject({ code: 1, stderr });
    });
  });
});

async function train(folder: string): Promise<void> {
  const pages = ['README.md', 'ARCHITECTURE.md', 'docs/models.md'].map((page) => readFile(committedPath(page), 'utf8'));
  const script = committedPath('test/support/train-tokenizers.py');
  const training = run(await tritonPython(), [script, folder]);
  training.child.stdin!.end((await Promise.all(pages)).join('\n'));
  await training;
}
