/** A tokenizer graph against Hugging Face's Rust library, both run in the Python of the local Triton. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { operatorLibrary } from '../../scripts/export-tokenizer/op-library.ts';
import { readTokenizer } from '../../scripts/export-tokenizer/tokenizer-file.ts';
import { type GraphOptions, tokenizerModel } from '../../scripts/export-tokenizer/tokenizer-graph.ts';
import { writeModelFile } from '../../scripts/onnx/model-file.ts';
import { tritonPython } from '../../scripts/stack/triton-install.ts';

const SCRIPT = fileURLToPath(new URL('./tokenizer-parity.py', import.meta.url));

export type ParitySpec = {
  readonly library: string;
  readonly graph: string;
  readonly tokenizer: string;
  readonly max_tokens: number;
  readonly truncation: 'longest_first' | 'only_second';
  /** Batches of texts, or of [query, passage]. */
  readonly batches: readonly (readonly (string | readonly [string, string])[])[];
};

export type Parity = {
  readonly compared: number;
  /** Pairs that the library itself would not cut. */
  readonly refused: number;
  readonly different: readonly object[];
};

/** @param specFile where the texts are put for the other process */
export async function tokenizerParity(spec: ParitySpec, specFile: string): Promise<Parity> {
  await writeFile(specFile, JSON.stringify(spec));
  const python = await tritonPython();
  const { stdout } = await promisify(execFile)(python, [SCRIPT, specFile], { maxBuffer: 64 * 2 ** 20 });
  return JSON.parse(stdout) as Parity;
}

export type GraphKind = Omit<GraphOptions, 'producerVersion'> & {
  /** Path of its tokenizer.json. */
  readonly tokenizer: string;
};

/** Exports a graph into `folder` and compares it with the library. */
export async function graphParity(folder: string, kind: GraphKind, batches: ParitySpec['batches']): Promise<Parity> {
  const graph = join(folder, 'graph.onnx');
  const { tokenizer, maxTokens, truncation } = kind;
  await writeGraph(graph, kind);
  const library = await operatorLibrary(() => undefined);
  const spec = { library, graph, tokenizer, max_tokens: maxTokens, truncation, batches };
  return tokenizerParity(spec, join(folder, 'spec.json'));
}

export async function writeGraph(path: string, { tokenizer, ...options }: GraphKind): Promise<void> {
  const description = readTokenizer(await readFile(tokenizer), tokenizer);
  await writeModelFile(path, tokenizerModel(description, { ...options, producerVersion: 'test' }));
}

/** The first `alone` rows each by themselves, then all of them in batches of `size`. */
export function inBatches<T>(rows: readonly T[], alone: number, size: number): T[][] {
  const batches = Array.from({ length: Math.ceil(rows.length / size) }, (_, at) =>
    rows.slice(at * size, (at + 1) * size),
  );
  return [...rows.slice(0, alone).map((row) => [row]), ...batches];
}
