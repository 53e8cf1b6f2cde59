/**
 * Is the mount there, is it the right one, and is there room? Asked before a region is created.
 *
 * The surprising fact: shm_open knows one place only, /dev/shm. A base path elsewhere would get the file nobody maps,
 * so it is refused unless it is the same directory (a symlink or a bind mount). The free space is a forecast: what
 * proves the room is the claim in region.ts.
 */
import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { ServingError } from '../errors.ts';

/** Where glibc and musl put what shm_open creates. */
export const SHM_OPEN_PATH = '/dev/shm';

export type MountSpace = {
  readonly freeBytes: number;
  /** 0 for a tmpfs without a limit: then `freeBytes` says nothing. */
  readonly totalBytes: number;
};

export async function readMountSpace(basePath: string): Promise<MountSpace> {
  const fs = await statfs(basePath);
  return { freeBytes: fs.bavail * fs.bsize, totalBytes: fs.blocks * fs.bsize };
}

/** Throws SHM_INVALID when regions cannot live at `basePath`. */
export async function requireShmMount(basePath: string): Promise<void> {
  const invalid = (why: string, cause?: unknown): ServingError =>
    new ServingError('SHM_INVALID', `RAG_SERVING_SHM_BASE_PATH ${basePath} ${why}`, { cause, details: { basePath } });

  const found = await stat(basePath).catch((cause: unknown) => {
    throw invalid('cannot be read; mount a tmpfs there, in the worker and in the model server', cause);
  });
  if (!found.isDirectory()) throw invalid('is not a directory; it must be the shared-memory mount');
  const expected = await stat(SHM_OPEN_PATH).catch((cause: unknown) => {
    throw invalid(`is of no use without ${SHM_OPEN_PATH}, the only place shm_open knows; mount a tmpfs there`, cause);
  });
  if (found.dev !== expected.dev || found.ino !== expected.ino) {
    throw invalid(
      `is not ${SHM_OPEN_PATH}, the only place shm_open knows; mount the volume at ${SHM_OPEN_PATH} instead`,
    );
  }
  await access(basePath, constants.R_OK | constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw invalid("is not writable for this process's user; mount it writable (mode 1777)", cause);
  });
}

/** Throws SHM_NO_SPACE when the mount cannot hold `neededBytes` more. */
export async function requireSpace(
  basePath: string,
  neededBytes: number,
  readSpace: (basePath: string) => Promise<MountSpace> = readMountSpace,
): Promise<void> {
  const space = await readSpace(basePath);
  if (space.totalBytes > 0 && space.freeBytes < neededBytes) throw noSpaceError(basePath, neededBytes, space.freeBytes);
}

export function noSpaceError(basePath: string, neededBytes: number, freeBytes: number, cause?: unknown): ServingError {
  const missingBytes = Math.max(neededBytes - freeBytes, 0);
  return new ServingError(
    'SHM_NO_SPACE',
    `the shared-memory region needs ${neededBytes} bytes, ${basePath} has ${freeBytes} free: ${missingBytes} are missing; ` +
      'lower RAG_SERVING_SHM_SLOTS or enlarge the mount at RAG_SERVING_SHM_BASE_PATH (an emptyDir sizeLimit, docker --shm-size)',
    { cause, details: { basePath, neededBytes, freeBytes, missingBytes } },
  );
}
