/**
 * Where a pulled folder stands, and what stands beside it meanwhile. The new version is made whole beside the old one and takes
 * its name by a rename; between the old one's leaving and the new one's coming there is nothing, for the time of one system
 * call. A pull that is killed just there is mended by the next.
 */
import { constants } from 'node:fs';
import { chmod, copyFile, link, lstat, mkdir, readdir, realpath, rename, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ServingError } from '../errors.ts';
import { syncPath } from './durable-files.ts';
import { asFileError, errnoOf } from './file-errors.ts';
import type { ModelFile } from './manifest.ts';

export type Place = {
  readonly folder: string;
  readonly lock: string;
  /** Blobs, as they arrive. */
  readonly blobs: string;
  /** The new version, put together. */
  readonly tree: string;
  readonly stage: string;
  readonly old: string;
};

export async function placeOf(target: string): Promise<Place> {
  const asked = resolve(target);
  // A link to the folder stays a link: what it points at is replaced.
  const folder = await realpath(asked).catch(() => asked);
  const parent = dirname(folder);
  await mkdir(parent, { recursive: true }).catch((error: unknown) => {
    throw asFileError(error, `making ${parent}`);
  });
  const beside = (suffix: string) => join(parent, `.${basename(folder)}.${suffix}`);
  const stage = beside('rag-pull');
  return {
    folder,
    lock: beside('rag-pull.lock'),
    stage,
    blobs: join(stage, 'blobs'),
    tree: join(stage, 'tree'),
    old: beside('rag-pull.old'),
  };
}

/** Under the lock: what a killed pull left in the middle of its switch. */
export async function recover({ folder, old }: Place): Promise<void> {
  if (!(await isThere(old))) return;
  if (await isThere(folder)) await rm(old, { recursive: true, force: true });
  else await rename(old, folder);
}

export async function isEmptyOrAbsent(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true;
    if (errnoOf(error) === 'ENOTDIR') throw new ServingError('ARGUMENT_INVALID', `${folder} is a file; name a folder`);
    throw asFileError(error, `reading ${folder}`);
  }
}

export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** The files under their names, from blobs that are whole. */
export async function assemble({ tree, blobs }: Place, files: readonly ModelFile[]): Promise<void> {
  await rm(tree, { recursive: true, force: true });
  const folders = new Set([tree]);
  const used = new Set<string>();
  try {
    for (const { path, sha256, executable } of files) {
      const to = join(tree, path);
      for (let up = dirname(to); up !== tree; up = dirname(up)) folders.add(up);
      await mkdir(dirname(to), { recursive: true });
      // The same content under two names becomes two files: one that is changed must not change the other.
      const from = join(blobs, sha256);
      if (used.has(sha256) || !(await linked(from, to))) await copyFile(from, to, constants.COPYFILE_FICLONE);
      used.add(sha256);
      await chmod(to, executable === true ? 0o755 : 0o644);
      await syncPath(to);
    }
    for (const folder of folders) await syncPath(folder);
  } catch (error) {
    throw asFileError(error, `putting ${tree} together`);
  }
}

/** The tree takes the folder's name; what was there goes. */
export async function switchOver({ folder, tree, old, stage }: Place): Promise<void> {
  try {
    const replaced = await isThere(folder);
    if (replaced) await rename(folder, old);
    try {
      await rename(tree, folder);
    } catch (error) {
      if (replaced) await rename(old, folder);
      throw error;
    }
    await syncPath(dirname(folder));
  } catch (error) {
    if (errnoOf(error) !== 'EBUSY' && errnoOf(error) !== 'EXDEV') throw asFileError(error, `switching ${folder}`);
    throw new ServingError(
      'ARGUMENT_INVALID',
      `${folder} is a mount point and cannot be replaced; name a folder inside it`,
    );
  }
  await rm(old, { recursive: true, force: true });
  await rm(stage, { recursive: true, force: true });
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

/** False on file systems without hard links. */
async function linked(from: string, to: string): Promise<boolean> {
  return await link(from, to).then(
    () => true,
    () => false,
  );
}
