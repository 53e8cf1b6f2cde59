/** Lays the files of an encoder's version: its model, and for the python backend the program that runs it. */
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { committedPath } from '../stack/package-root.ts';

/** Committed files by the name they get; the python backend begins with model.py. */
export type Program = Readonly<Record<string, string>>;

export const ENCODER_PROGRAM = 'scripts/build-model-repos/triton/encoder.py';

/** `link`: for a server on this machine, which may read the model where it lies. */
export async function placeEncoder(
  version: string,
  files: Readonly<Record<string, string>>,
  program: Program,
  how: 'copy' | 'link',
): Promise<void> {
  await mkdir(version, { recursive: true });
  for (const [name, path] of Object.entries(files)) {
    if (how === 'link') await symlink(resolve(path), join(version, name));
    else await cp(path, join(version, name));
  }
  for (const [name, path] of Object.entries(program)) await cp(committedPath(path), join(version, name));
}
