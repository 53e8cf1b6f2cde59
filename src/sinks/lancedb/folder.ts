/**
 * The folder that tables live in: made when missing, refused with a clear error when it cannot be one.
 *
 * Surprising: Node's own recursive mkdir never returns for a place like /proc/x, where the parent exists and nothing can
 * be made in it. So parents are made one by one.
 */
import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ServingError } from '../../errors.ts';

export async function prepareFolder(path: string): Promise<void> {
  await makeFolder(path);
  if (!(await stat(path)).isDirectory()) {
    throw new ServingError('CONFIG_INVALID', `RAG_SERVING_LANCEDB_PATH: ${path} is there and is not a folder`);
  }
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
}

/** True for a folder that can be read; false when nothing is there. Makes nothing. */
export async function isReadableFolder(path: string): Promise<boolean> {
  try {
    if (!(await stat(path)).isDirectory()) {
      throw new ServingError('CONFIG_INVALID', `RAG_SERVING_LANCEDB_PATH: ${path} is there and is not a folder`);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  await access(path, constants.R_OK | constants.X_OK);
  return true;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT') throw error;
    if (await exists(dirname(path))) {
      throw new ServingError('CONFIG_INVALID', `RAG_SERVING_LANCEDB_PATH: no folder can be made at ${path}`, {
        cause: error,
      });
    }
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
