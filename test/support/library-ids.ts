/** Ids and types of Hugging Face's Rust library, from the Python of the local Triton. */
import { spawn } from 'node:child_process';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { tritonPython } from '../../scripts/stack/triton-install.ts';

const SCRIPT = fileURLToPath(new URL('./library-ids.py', import.meta.url));

export type Encoding = { readonly ids: number[]; readonly types: number[] };

/** Each row alone, cut and not padded. @param tokenizer path of a tokenizer.json @param rows one text each, or two */
export async function libraryIds(
  tokenizer: string,
  maxTokens: number,
  rows: readonly (readonly string[])[],
): Promise<Encoding[]> {
  const child = spawn(await tritonPython(), [SCRIPT], { stdio: 'pipe' });
  child.stdin.end(JSON.stringify({ tokenizer, max_tokens: maxTokens, rows }));
  const [encodings, complaint] = await Promise.all([json(child.stdout).catch(() => undefined), text(child.stderr)]);
  if (encodings === undefined) throw new Error(`library-ids.py gave no ids: ${complaint}`);
  return encodings as Encoding[];
}
