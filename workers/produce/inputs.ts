/**
 * Which files the given paths mean: a file, a folder (its .md and .txt, at any depth), a glob that the shell left alone.
 * Sorted, each file once. Names of documents are paths relative to the base folder with forward slashes, the same on
 * every machine.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { globPattern, globRoot, isGlob } from './glob.ts';

export type Input = {
  readonly kind: 'lines' | 'document';
  readonly path: string;
  /** Relative to the base folder: the document id. */
  readonly name: string;
  readonly bytes: number;
};

const DOCUMENTS = new Set(['.md', '.markdown', '.txt']);
const LINES = new Set(['.ndjson', '.jsonl', '.json']);

export async function findInputs(paths: readonly string[], baseDir: string): Promise<Input[]> {
  const found = new Map<string, Input>();
  for (const path of paths) {
    for (const input of await inputsOf(path, baseDir)) found.set(input.path, input);
  }
  const inputs = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const twins = inputs.findIndex((input, index) => input.name === inputs[index + 1]?.name);
  if (twins !== -1) {
    const [one, other] = [inputs[twins]?.path, inputs[twins + 1]?.path];
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${one} and ${other} would get the same document id; give --base a folder above both`,
    );
  }
  return inputs;
}

async function inputsOf(path: string, baseDir: string): Promise<Input[]> {
  const full = resolve(baseDir, path);
  const there = await stat(full).catch(() => undefined);
  if (there?.isDirectory()) return requireSome(await walk(full, baseDir, isDocument), path, 'no .md or .txt file');
  if (there !== undefined) return [fileInput(full, baseDir, there.size)];
  if (!isGlob(path)) {
    throw new ServingError('ARGUMENT_INVALID', `${path}: no such file or folder`);
  }
  const pattern = globPattern(isAbsolute(path) ? path : path.replace(/^\.\//, ''));
  const accepts = (file: string) => pattern.test(isAbsolute(path) ? file : slashed(relative(baseDir, file)));
  const root = resolve(baseDir, globRoot(path));
  return requireSome(await walk(root, baseDir, accepts).catch(() => []), path, 'no file matches');
}

function requireSome(inputs: Input[], path: string, problem: string): Input[] {
  if (inputs.length === 0) throw new ServingError('ARGUMENT_INVALID', `${path}: ${problem}`);
  return inputs;
}

/** Hidden folders and node_modules below are left out; links are not followed, so that no ring is walked. */
async function walk(folder: string, baseDir: string, accepts: (file: string) => boolean): Promise<Input[]> {
  const inputs: Input[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const full = join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules') {
      inputs.push(...(await walk(full, baseDir, accepts)));
    } else if (entry.isFile() && accepts(full)) {
      inputs.push(fileInput(full, baseDir, (await stat(full)).size));
    }
  }
  return inputs;
}

function isDocument(path: string): boolean {
  return DOCUMENTS.has(extname(path).toLowerCase());
}

function fileInput(path: string, baseDir: string, bytes: number): Input {
  const extension = extname(path).toLowerCase();
  if (!DOCUMENTS.has(extension) && !LINES.has(extension)) {
    throw new ServingError('ARGUMENT_INVALID', `${path}: neither text (.md, .txt) nor lines of JSON (.ndjson, .jsonl)`);
  }
  return { kind: LINES.has(extension) ? 'lines' : 'document', path, name: nameOf(path, baseDir), bytes };
}

/** Outside of the base folder there is no stable relative name, so the file's own has to do. */
export function nameOf(path: string, baseDir: string): string {
  const name = relative(baseDir, path);
  return name.startsWith('..') || isAbsolute(name) ? basename(path) : slashed(name);
}

function slashed(path: string): string {
  return path.split(sep).join('/');
}
