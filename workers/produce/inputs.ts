/**
 * Which files the given paths mean: a file, a folder (its .md and .txt, at any depth), a glob that the shell left alone.
 * In the order of the paths, sorted within each, every file once. Names of documents are paths relative to the base folder with forward slashes, the same on
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

/** @param baseDir what document ids are relative to; @param cwd what the paths are relative to */
export async function findInputs(paths: readonly string[], baseDir: string, cwd = process.cwd()): Promise<Input[]> {
  const found = new Map<string, Input>();
  const byName = new Map<string, Input>();
  for (const path of paths) {
    const inputs = await inputsOf(path, baseDir, cwd);
    for (const input of inputs.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (found.has(input.path)) continue;
      found.set(input.path, input);
      const twin = byName.get(input.name);
      byName.set(input.name, input);
      if (twin === undefined) continue;
      throw new ServingError(
        'ARGUMENT_INVALID',
        `${twin.path} and ${input.path} would get the same document id; give --base a folder above both`,
      );
    }
  }
  return [...found.values()];
}

async function inputsOf(path: string, baseDir: string, cwd: string): Promise<Input[]> {
  const full = resolve(cwd, path);
  const there = await stat(full).catch(() => undefined);
  if (there?.isDirectory()) return requireSome(await walk(full, baseDir, isDocument), path, 'no .md or .txt file');
  if (there !== undefined) return [fileInput(full, baseDir, there.size)];
  if (!isGlob(path)) {
    throw new ServingError('ARGUMENT_INVALID', `${path}: no such file or folder`);
  }
  const pattern = globPattern(isAbsolute(path) ? path : path.replace(/^\.\//, ''));
  const accepts = (file: string) => pattern.test(isAbsolute(path) ? file : slashed(relative(cwd, file)));
  const root = resolve(cwd, globRoot(path));
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
