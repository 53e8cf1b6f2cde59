/**
 * Where the repository is, for the committed files that the compiler does not copy (pom, requirements, model repository).
 *
 * The same source runs as `scripts/stack/*.ts` under vitest and as `dist/scripts/stack/*.js`, so the depth differs: walk up.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ServingError } from '../../src/errors.ts';

/** Absolute path of a committed file or folder, given from the repository's root. Throws DEPENDENCY_MISSING when it is not there. */
export function committedPath(relative: string): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json')) && existsSync(join(folder, relative))) return join(folder, relative);
    if (dirname(folder) === folder) {
      throw new ServingError(
        'DEPENDENCY_MISSING',
        `${relative} not found above ${import.meta.dirname}: run from a clone`,
      );
    }
  }
}
