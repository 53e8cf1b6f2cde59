/**
 * Loads LanceDB and the Arrow library that LanceDB itself uses.
 *
 * Surprising: Arrow comes as two builds, and `import` would give the other one. LanceDB then rebuilds each array of a
 * foreign build and drops the children of a FixedSizeList, that is, the vectors. So Arrow is required from LanceDB's place.
 */
import { createRequire } from 'node:module';
import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { ServingError } from '../../errors.ts';

export type ArrowLibrary = typeof Arrow;
export type LanceDbLibrary = typeof LanceDb;

export function loadLanceDb(): { readonly lancedb: LanceDbLibrary; readonly arrow: ArrowLibrary } {
  try {
    const require = createRequire(import.meta.url);
    const requireOfLanceDb = createRequire(require.resolve('@lancedb/lancedb'));
    return { lancedb: require('@lancedb/lancedb'), arrow: requireOfLanceDb('apache-arrow') };
  } catch (cause) {
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `RAG_SERVING_SINK=lancedb needs the packages @lancedb/lancedb and apache-arrow with a native build for ${process.platform}-${process.arch}: install them or choose another sink`,
      { cause },
    );
  }
}
