/** `rag-serving models …` as processes from dist/, and golden files for their tests. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { goldenOfReference } from '../../../scripts/export-onnx/golden.ts';
import { openTokenizer } from '../../../scripts/export-onnx/parity/sequences.ts';
import { DataType } from '../../../scripts/onnx/tensors.ts';
import { cacheRoot } from '../../../scripts/stack/cache.ts';
import { Program } from '../../../scripts/stack/program.ts';
import { resolveModel } from '../../../src/engine/model-source.ts';
import type { GoldenEmbedder } from '../../../src/golden/golden-file.ts';
import type { CheckReport } from '../../../src/golden/verdict.ts';

export type Ended = {
  readonly code: number | null;
  readonly output: string;
  /** Of --json. */
  readonly report: CheckReport | undefined;
};

export function startModels(args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
  return new Program(['models', ...args], env);
}

export async function ended(program: Program): Promise<Ended> {
  const { code } = await program.exited;
  const report = program.lines.find(({ outcome }) => outcome !== undefined);
  return { code, output: program.output, report: report as CheckReport | undefined };
}

export function models(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> {
  return ended(startModels(args, env));
}

/** A folder of this test file's own. */
export function useFolder(): () => string {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-models-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return () => folder;
}

/** Writes own texts, takes their vectors from a live model, and gives the path of the golden file. */
export async function take(
  folder: string,
  texts: Readonly<Record<string, string>>,
  from: { readonly url: string; readonly model: string },
): Promise<string> {
  const name = `${from.model}-${Object.keys(texts).join('-')}`;
  const ndjson = join(folder, `${name}.ndjson`);
  await writeFile(
    ndjson,
    Object.entries(texts)
      .map(([label, text]) => JSON.stringify({ label, text }))
      .join('\n'),
  );
  const golden = join(folder, `${name}.golden.json`);
  const taken = await models([
    'golden',
    '--url',
    from.url,
    '--model',
    from.model,
    '--texts',
    ndjson,
    '--output',
    golden,
  ]);
  expect(taken.code, taken.output).toBe(0);
  return golden;
}

/** all-MiniLM-L6-v2 (int8 weights) as onnxruntime runs its own file, tokenized in this process: no server has a part in it. */
export async function referenceOfMiniLm(): Promise<GoldenEmbedder> {
  const files = await resolveModel({ cacheDir: cacheRoot() });
  const inputs = (['input_ids', 'attention_mask', 'token_type_ids'] as const).map((name) => {
    return { name, original: name, type: DataType.INT64 };
  });
  const golden = await goldenOfReference(
    {
      reference: { path: files.modelPath, inputs, output: 'last_hidden_state' },
      tokenizer: await openTokenizer(join(files.tokenizerPath, '..')),
      config: { maxTokens: 512, padTokenId: 0, labels: [] },
      head: { kind: 'embedding', embedding: { pooling: 'mean', normalize: true, half: true } },
      ...{ half: {}, threads: 2, properties: { model: 'all-MiniLM-L6-v2' } },
    },
    new AbortController().signal,
  );
  return golden as GoldenEmbedder;
}
