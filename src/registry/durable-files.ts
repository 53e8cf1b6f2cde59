/** Writing that survives a power cut: data first, then the name, then the folder that holds the name. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf } from './file-errors.ts';

export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems cannot sync a folder.
    if (errnoOf(error) !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
}

/** The whole file or nothing, whoever looks and whenever this stops. 'absent': only when no file of that name is there. */
export async function writeDurably(
  path: string,
  bytes: Buffer,
  condition: 'always' | 'absent' = 'always',
): Promise<'written' | 'exists'> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `.writing-${randomBytes(6).toString('hex')}`);
  try {
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (condition === 'always') await rename(temporary, path);
    // Unlike a rename, a link never takes the place of what is there.
    else if (!(await linked(temporary, path))) return 'exists';
    await syncPath(folder);
    return 'written';
  } finally {
    await rm(temporary, { force: true });
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}
