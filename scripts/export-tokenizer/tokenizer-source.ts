/** Where a tokenizer.json comes from: a file, a folder that holds it, or a model's commit on a hub. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { findOnHub } from '../export-onnx/hub/fetch-files.ts';
import { fromHub, isPath, type Surroundings } from '../export-onnx/hub/from-hub.ts';

export type TokenizerSource = {
  readonly content: Buffer;
  /** Of a hub; the commit, whatever revision was asked for. */
  readonly origin?: { readonly model: string; readonly revision: string };
};

const FILE = 'tokenizer.json';

export async function findTokenizer(
  { model, revision }: { readonly model: string; readonly revision: string },
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<TokenizerSource> {
  if (await isPath(model)) return { content: await readTokenizerFile(model, '--model') };
  const request = { id: model, revision, cacheDir: surroundings.cacheDir };
  const { folder, commit } = await fromHub(surroundings, request, async (hub, onBytes) => {
    const found = await findOnHub(hub, request, onBytes, signal);
    if (!found.names.includes(FILE)) {
      throw new ServingError(
        'ENGINE_MODEL_INVALID',
        `${model} has no ${FILE}: make one with AutoTokenizer.from_pretrained(…).save_pretrained(DIR), then give --model DIR`,
      );
    }
    await found.fetching((take) => take(FILE));
    return found;
  });
  return { content: await readFile(join(folder, FILE)), origin: { model, revision: commit } };
}

/** Throws ARGUMENT_INVALID, naming the option, for a path where there is none. */
export async function readTokenizerFile(path: string, option: string): Promise<Buffer> {
  for (const file of [join(path, FILE), path]) {
    try {
      return await readFile(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'EISDIR') throw error;
    }
  }
  throw new ServingError('ARGUMENT_INVALID', `${option} ${path} is neither a ${FILE} nor a folder with one`);
}
