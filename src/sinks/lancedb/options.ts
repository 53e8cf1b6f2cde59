/** What the LanceDB sink can be told, with its defaults; checked before anything is opened. */
import { ServingError } from '../../errors.ts';
import type { TableCondition } from '../observer.ts';
import { checkTombstoneRetention, DEFAULT_TOMBSTONE_RETENTION_MS } from '../tombstones.ts';
import { checkAddress, type ObjectStoreAccess, schemeOf } from './object-store.ts';
import type { VectorIndexKind } from './vector-index.ts';

export type LanceDbSinkOptions = {
  /** Folder, or an address that LanceDB knows (`s3://bucket/path`). RAG_SERVING_LANCEDB_PATH */
  readonly uri: string;
  /** Table name: the collection. RAG_SERVING_LANCEDB_TABLE */
  readonly table: string;
  /** How an object store is reached; holds secrets, never shown. AWS_* */
  readonly objectStore?: ObjectStoreAccess;
  readonly allowMixedFingerprints?: boolean;
  /** Queued writes are merged into one commit up to this many rows. */
  readonly maxGroupRows?: number;
  /** Small fragments that make a compaction due. */
  readonly compactAfterCommits?: number;
  /** Commits since the last compaction are compacted after so long, however few. RAG_SERVING_LANCEDB_MAINTENANCE_INTERVAL_MS */
  readonly maintenanceIntervalMs?: number;
  /** Vector index that is built; `none` leaves one that is there. RAG_SERVING_LANCEDB_INDEX */
  readonly index?: VectorIndexKind;
  /** Rows from which on it is built. RAG_SERVING_LANCEDB_INDEX_MIN_ROWS */
  readonly indexMinRows?: number;
  /** Told each time the table was looked after. */
  readonly onTable?: (condition: TableCondition) => void;
  /** Versions older than this are removed at compaction; a reader may look at one for so long. */
  readonly keepVersionsMs?: number;
  /** How long a deletion is remembered. RAG_SERVING_TOMBSTONE_RETENTION_MS */
  readonly tombstoneRetentionMs?: number;
  /** Most memory that pages of the key index take. LanceDB's own default is 6 GB. */
  readonly indexCacheBytes?: number;
  /** Most memory that metadata of files and versions take. LanceDB's own default is 1 GB. */
  readonly metadataCacheBytes?: number;
  /** How long a caller waits for one write, compaction before it included. */
  readonly writeTimeoutMs?: number;
  readonly closeTimeoutMs?: number;
};

export type ResolvedLanceDbOptions = Required<Omit<LanceDbSinkOptions, 'objectStore'>> &
  Pick<LanceDbSinkOptions, 'objectStore'>;

/** What LanceDB itself allows; it panics on anything else. */
const TABLE_NAME = /^[A-Za-z0-9_.-]{1,200}$/;

export function resolveLanceDbOptions(options: LanceDbSinkOptions): ResolvedLanceDbOptions {
  if (options.uri.trim() === '') throw new ServingError('CONFIG_INVALID', 'RAG_SERVING_LANCEDB_PATH is empty');
  checkAddress(options.uri.trim());
  if (!TABLE_NAME.test(options.table)) {
    throw new ServingError(
      'CONFIG_INVALID',
      `RAG_SERVING_LANCEDB_TABLE has ${options.table.length} characters; it must be 1 to 200 letters, digits, "_", "-" or "."`,
    );
  }
  const tombstoneRetentionMs = options.tombstoneRetentionMs ?? DEFAULT_TOMBSTONE_RETENTION_MS;
  checkTombstoneRetention(tombstoneRetentionMs);
  return {
    maxGroupRows: 2_048,
    compactAfterCommits: 32,
    maintenanceIntervalMs: 60_000,
    index: 'none',
    indexMinRows: 100_000,
    onTable: () => {},
    keepVersionsMs: 30_000,
    indexCacheBytes: 33_554_432,
    metadataCacheBytes: 16_777_216,
    writeTimeoutMs: 60_000,
    closeTimeoutMs: 5_000,
    allowMixedFingerprints: false,
    ...options,
    tombstoneRetentionMs,
    uri: options.uri.trim(),
  };
}

/** True for a folder of this machine. */
export function isLocal(uri: string): boolean {
  return schemeOf(uri) === undefined;
}
