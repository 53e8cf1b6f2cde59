/**
 * What is fetched once and kept: a folder per part and version in the user's cache.
 *
 * A part is built in a temporary folder beside its final place and renamed when whole, under a lock between processes:
 * a folder that exists is complete, and two test runs that start together download once.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withFileLock } from './lock.ts';

/** Takes one line of progress. */
export type Report = (line: string) => void;

const LOCK_TIMEOUT_MS = 15 * 60_000;

/** `RAG_SERVING_CACHE_DIR`, or `rag-inference-serving` in the user's cache folder. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  if (env.RAG_SERVING_CACHE_DIR) return env.RAG_SERVING_CACHE_DIR;
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rag-inference-serving');
}

/**
 * The folder of a part, built by `build` when it is not there yet. `name` must change with everything that is pinned:
 * nothing looks into a folder that exists.
 */
export async function provision(
  name: string,
  build: (folder: string, report: Report) => Promise<void>,
  report: Report,
): Promise<string> {
  const root = cacheRoot();
  const folder = join(root, name);
  if (existsSync(folder)) return folder;
  await mkdir(root, { recursive: true });
  const onWait = () => report(`${name}: waiting for another process that is fetching it`);
  return await withFileLock(join(root, `${name}.lock`), { timeoutMs: LOCK_TIMEOUT_MS, onWait }, async () => {
    if (existsSync(folder)) return folder;
    await removeRemains(root, `${name}.tmp-`);
    const temporary = join(root, `${name}.tmp-${process.pid}`);
    await mkdir(temporary);
    try {
      await build(temporary, report);
      await rename(temporary, folder);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
    return folder;
  });
}

/** We hold the lock, so whoever left these was killed while building. */
async function removeRemains(root: string, prefix: string): Promise<void> {
  for (const entry of await readdir(root)) {
    if (entry.startsWith(prefix)) await rm(join(root, entry), { recursive: true, force: true });
  }
}
