/** Fresh temporary folders for the data of started servers; their name starts with `rag-stack-`. */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The caller's own folder, created when missing, or a new temporary one. */
export async function dataFolder(name: string, own: string | undefined): Promise<string> {
  if (own === undefined) return await mkdtemp(join(tmpdir(), `rag-stack-${name}-`));
  await mkdir(own, { recursive: true });
  return resolve(own);
}
