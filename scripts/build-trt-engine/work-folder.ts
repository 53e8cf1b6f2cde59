/**
 * The folder beside an engine that a build works in: `.NAME.building`. It is a lock as well, since it can be made only once, and
 * what a killed build left in it is thrown away by the next one.
 */
import { mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ServingError } from '../../src/errors.ts';

export type WorkFolder = { readonly path: string; remove(): Promise<void> };

export function workFolderOf(enginePath: string): string {
  return join(dirname(enginePath), `.${basename(enginePath)}.building`);
}

/** Throws ARGUMENT_INVALID while another build of the same engine runs, or may run on another machine. */
export async function claimWorkFolder(enginePath: string): Promise<WorkFolder> {
  const path = workFolderOf(enginePath);
  await mkdir(dirname(enginePath), { recursive: true });
  try {
    await mkdir(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    const owner = await readFile(join(path, 'owner'), 'utf8').catch(() => '');
    const [pid = '', host = ''] = owner.trim().split(' ');
    if (host !== hostname() || isAlive(Number(pid))) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `${path} belongs to another build (${owner.trim() || 'it does not say which'}): wait for it, or remove the folder if no build runs`,
        { cause },
      );
    }
    await rm(path, { recursive: true, force: true });
    await mkdir(path);
  }
  await writeFile(join(path, 'owner'), `${process.pid} ${hostname()}\n`);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** An engine takes about as much as the weights; a disk that is full is better found before the build. Throws DEPENDENCY_MISSING. */
export async function checkRoom(folder: string, weightBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= weightBytes) return;
  throw new ServingError(
    'DEPENDENCY_MISSING',
    `${dirname(folder)} has ${bavail * bsize} bytes free, and the engine takes about ${weightBytes}: make room, or write it elsewhere`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is one too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
