/**
 * Loads LanceDB and the Arrow library that LanceDB itself uses.
 *
 * Surprising: Arrow comes as two builds, and `import` would give the other one. LanceDB then rebuilds each array of a
 * foreign build and drops the children of a FixedSizeList, that is, the vectors. So Arrow is required from LanceDB's place.
 *
 * LanceDB reads ahead of a scan up to 2 GB, so a compaction would hold most of the table in memory. The environment is the
 * only way to tell it otherwise, and it looks there when it is first used.
 */
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { defaultForNative } from '../../config/native-defaults.ts';
import { ServingError } from '../../errors.ts';
import { storageOptions } from './object-store.ts';
import type { ResolvedLanceDbOptions } from './options.ts';

export type ArrowLibrary = typeof Arrow;
export type LanceDbLibrary = typeof LanceDb;

/** Threads of LanceDB's own: while an index is built on all of them, a write waits for its turn. */
const THREADS_BESIDE_A_BUILD = 8;
/** At least the largest page that LanceDB writes, 32 MiB. */
const READ_AHEAD_BYTES = 33_554_432;

type ConnectOptions = Pick<ResolvedLanceDbOptions, 'uri' | 'indexCacheBytes' | 'metadataCacheBytes' | 'objectStore'>;

export function connect(
  lancedb: LanceDbLibrary,
  { uri, indexCacheBytes, metadataCacheBytes, objectStore }: ConnectOptions,
): Promise<LanceDb.Connection> {
  const stored = storageOptions(uri, objectStore ?? {});
  return lancedb.connect(uri, {
    // Each read sees the newest commit, also of another process.
    readConsistencyInterval: 0,
    // As an option: the argument of this name that `connect` documents is ignored by 0.31.
    session: new lancedb.Session(BigInt(indexCacheBytes), BigInt(metadataCacheBytes)),
    ...(stored && { storageOptions: stored }),
  });
}

export function loadLanceDb({ buildsIndex = false }: { readonly buildsIndex?: boolean } = {}): {
  readonly lancedb: LanceDbLibrary;
  readonly arrow: ArrowLibrary;
} {
  defaultForNative('LANCE_DEFAULT_IO_BUFFER_SIZE', String(READ_AHEAD_BYTES));
  // Its own warnings quote whole answers of an object store; what they say arrives as an error as well.
  defaultForNative('LANCEDB_LOG', 'off');
  if (buildsIndex)
    defaultForNative('LANCE_CPU_THREADS', String(Math.max(THREADS_BESIDE_A_BUILD, availableParallelism())));
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
