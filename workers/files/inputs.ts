/**
 * Which files the given paths mean: a file, a folder (what a command takes of it, at any depth), a glob that the shell left alone.
 * In the order of the paths, sorted within each, every file once. Names of documents are paths relative to the base folder with forward slashes, the same on
 * every machine.
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { globPattern, globRoot, isGlob } from './glob.ts';

export type InputKind = 'lines' | 'document' | 'csv' | 'parquet';
export type Compression = 'gz' | 'zst';

export type Input = {
  readonly kind: InputKind;
  readonly compression: Compression | undefined;
  readonly path: string;
  /** Relative to the base folder: the document id. */
  readonly name: string;
  readonly bytes: number;
};

/** What a command takes. */
export type Accepted = {
  readonly kinds: ReadonlySet<InputKind>;
  readonly compressed: boolean;
  /** Extensions that are taken of a folder that was named as a whole. */
  readonly ofFolder: ReadonlySet<string>;
  readonly ofFolderSays: string;
  readonly says: string;
};

const KIND_OF: Readonly<Record<string, InputKind>> = {
  '.md': 'document',
  '.markdown': 'document',
  '.txt': 'document',
  '.ndjson': 'lines',
  '.jsonl': 'lines',
  '.json': 'lines',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.parquet': 'parquet',
};

const TEXTS = ['.md', '.markdown', '.txt'];

export const textsAndLines: Accepted = {
  kinds: new Set(['document', 'lines']),
  compressed: false,
  ofFolder: new Set(TEXTS),
  ofFolderSays: '.md or .txt',
  says: 'neither text (.md, .txt) nor lines of JSON (.ndjson, .jsonl)',
};

/** Of a folder no `.json`: those are settings more often than lines. */
export const everyKind: Accepted = {
  kinds: new Set(['document', 'lines', 'csv', 'parquet']),
  compressed: true,
  ofFolder: new Set([...TEXTS, '.ndjson', '.jsonl', '.csv', '.tsv', '.parquet']),
  ofFolderSays: '.ndjson, .jsonl, .csv, .tsv, .parquet, .md or .txt',
  says: 'none of .ndjson, .jsonl, .csv, .tsv (each also with .gz or .zst), .parquet, .md, .txt',
};

/** @param baseDir what document ids are relative to; @param cwd what the paths are relative to */
export async function findInputs(
  paths: readonly string[],
  baseDir: string,
  cwd = process.cwd(),
  accepted: Accepted = textsAndLines,
): Promise<Input[]> {
  const found = new Map<string, Input>();
  const byName = new Map<string, Input>();
  for (const path of paths) {
    const inputs = await inputsOf(path, baseDir, cwd, accepted);
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

async function inputsOf(path: string, baseDir: string, cwd: string, accepted: Accepted): Promise<Input[]> {
  const input = (file: string, bytes: number) => fileInput(file, baseDir, bytes, accepted);
  const full = resolve(cwd, path);
  const there = await stat(full).catch(() => undefined);
  if (there?.isDirectory() === true) {
    const inFolder = (file: string) => accepted.ofFolder.has(formOf(file, accepted).extension);
    return requireSome(await walk(full, inFolder, input), path, `no ${accepted.ofFolderSays} file`);
  }
  if (there !== undefined) return [input(full, there.size)];
  if (!isGlob(path)) {
    throw new ServingError('ARGUMENT_INVALID', `${path}: no such file or folder`);
  }
  const pattern = globPattern(isAbsolute(path) ? path : path.replace(/^\.\//, ''));
  const accepts = (file: string) => pattern.test(isAbsolute(path) ? file : slashed(relative(cwd, file)));
  const root = resolve(cwd, globRoot(path));
  return requireSome(await walk(root, accepts, input).catch(() => []), path, 'no file matches');
}

function requireSome(inputs: Input[], path: string, problem: string): Input[] {
  if (inputs.length === 0) throw new ServingError('ARGUMENT_INVALID', `${path}: ${problem}`);
  return inputs;
}

/** Hidden folders and node_modules below are left out; links are not followed, so that no ring is walked. */
async function walk(
  folder: string,
  accepts: (file: string) => boolean,
  input: (file: string, bytes: number) => Input,
): Promise<Input[]> {
  const inputs: Input[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const full = join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules') {
      inputs.push(...(await walk(full, accepts, input)));
    } else if (entry.isFile() && accepts(full)) {
      inputs.push(input(full, (await stat(full)).size));
    }
  }
  return inputs;
}

function formOf(path: string, { compressed }: Accepted): { extension: string; compression: Compression | undefined } {
  const last = extname(path).toLowerCase();
  if (!compressed || (last !== '.gz' && last !== '.zst')) return { extension: last, compression: undefined };
  return { extension: extname(path.slice(0, -last.length)).toLowerCase(), compression: last === '.gz' ? 'gz' : 'zst' };
}

function fileInput(path: string, baseDir: string, bytes: number, accepted: Accepted): Input {
  const { extension, compression } = formOf(path, accepted);
  const kind = KIND_OF[extension];
  const packable = compression === undefined || kind === 'lines' || kind === 'csv';
  if (kind === undefined || !accepted.kinds.has(kind) || !packable) {
    throw new ServingError('ARGUMENT_INVALID', `${path}: ${accepted.says}`);
  }
  return { kind, compression, path, name: nameOf(path, baseDir), bytes };
}

/** Outside of the base folder there is no stable relative name, so the file's own has to do. */
export function nameOf(path: string, baseDir: string): string {
  const name = relative(baseDir, path);
  return name.startsWith('..') || isAbsolute(name) ? basename(path) : slashed(name);
}

function slashed(path: string): string {
  return path.split(sep).join('/');
}
