/** Finds and reads a golden file: the file itself, or the one in a folder; in a pulled model's, the one that its manifest names. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../src/errors.ts';
import { type Golden, parseGolden } from '../src/golden/golden-file.ts';
import { readReceipt } from '../src/registry/receipt.ts';

const NAME = 'golden.json';
const MOST_BYTES = 256 * 1_048_576;

/** Throws ARGUMENT_INVALID. */
export async function readGolden(path: string): Promise<Golden> {
  const file = await fileAt(path);
  const { size } = await found(file, stat(file));
  if (size > MOST_BYTES)
    throw new ServingError('ARGUMENT_INVALID', `${file} has ${size} bytes, no golden file is so large`);
  return parseGolden(await found(file, readFile(file, 'utf8')), file);
}

async function fileAt(path: string): Promise<string> {
  if (!(await found(path, stat(path))).isDirectory()) return path;
  const pulled = (await readReceipt(path))?.manifest.golden ?? undefined;
  if (pulled !== undefined) return join(path, pulled);
  const names = await found(path, readdir(path));
  const golden = names.includes(NAME) ? [NAME] : names.filter((name) => name.endsWith(`.${NAME}`));
  if (golden.length === 1) return join(path, golden[0]!);
  const has = golden.length === 0 ? `no ${NAME}` : `several golden files (${golden.join(', ')})`;
  throw new ServingError('ARGUMENT_INVALID', `the folder ${path} has ${has}: name the file`);
}

async function found<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new ServingError('ARGUMENT_INVALID', `cannot read the golden file ${path}`, { cause });
  }
}
