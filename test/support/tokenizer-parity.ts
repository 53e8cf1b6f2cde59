/** A tokenizer graph against Hugging Face's Rust library, both run in the Python of the local Triton. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
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

/** The first `alone` rows each by themselves, then all of them in batches of `size`. */
export function inBatches<T>(rows: readonly T[], alone: number, size: number): T[][] {
  const batches = Array.from({ length: Math.ceil(rows.length / size) }, (_, at) =>
    rows.slice(at * size, (at + 1) * size),
  );
  return [...rows.slice(0, alone).map((row) => [row]), ...batches];
}
