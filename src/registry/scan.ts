/**
 * The files of a folder that is to be pushed. What a reader elsewhere could not get, or should not, is refused: links out of
 * the folder, sockets, names that another system reads otherwise, and empty folders: Triton does not load an ensemble without one.
 */
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { ServingError } from '../errors.ts';
import { errnoOf } from './file-errors.ts';
import { clashingPath, pathProblem, RECEIPT_NAME } from './safe-path.ts';

export type ScannedFile = {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly absolute: string;
  readonly sizeBytes: number;
  readonly executable: boolean;
};

/** Sorted by path. Throws ARGUMENT_INVALID naming the first file that cannot be pushed. */
export async function scanFolder(folder: string): Promise<readonly ScannedFile[]> {
  const root = await rootOf(folder);
  const files: ScannedFile[] = [];
  const visit = async (relative: string): Promise<void> => {
    const names = (await readdir(join(root, relative))).sort();
    if (names.length === 0 && relative !== '') {
      throw refused(relative, 'is an empty folder, which would not arrive; put a file such as ".keep" into it');
    }
    for (const name of names) {
      const path = relative === '' ? name : `${relative}/${name}`;
      if (path === RECEIPT_NAME) continue;
      const absolute = join(root, path);
      const found = await lstat(absolute);
      if (found.isDirectory()) await visit(path);
      else files.push(await scanned(root, path, absolute));
    }
  };
  await visit('');
  if (files.length === 0) throw new ServingError('ARGUMENT_INVALID', `${folder} holds no files; name a model's folder`);
  const clash = clashingPath(files.map(({ path }) => path));
  if (clash !== undefined) throw refused(clash, 'differs from another one only in upper and lower case; rename one');
  return files;
}

async function rootOf(folder: string): Promise<string> {
  try {
    const root = await realpath(folder);
    if ((await stat(root)).isDirectory()) return root;
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    throw new ServingError('ARGUMENT_INVALID', `${folder}: there is no such folder`);
  }
  throw new ServingError('ARGUMENT_INVALID', `${folder} is no folder; put the model's files into one`);
}

async function scanned(root: string, path: string, absolute: string): Promise<ScannedFile> {
  const problem = pathProblem(path);
  if (problem !== undefined) throw refused(path, `has a name that ${problem}; rename it`);
  let real: string;
  try {
    real = await realpath(absolute);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ELOOP') throw error;
    throw refused(path, 'is a link to nothing; remove it');
  }
  if (!real.startsWith(root + sep)) {
    throw refused(path, 'is a link out of the folder; copy the folder with "cp -rL" and push the copy');
  }
  const found = await stat(real);
  if (!found.isFile()) throw refused(path, 'is neither a file nor a folder, or a link to a folder; remove it');
  return { path, absolute: real, sizeBytes: found.size, executable: (found.mode & 0o100) !== 0 };
}

function refused(path: string, why: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', `${JSON.stringify(path)} ${why}`);
}
