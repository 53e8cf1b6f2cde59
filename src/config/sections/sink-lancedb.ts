/** LanceDB as a vector store, in a folder or in an object store: a part of the section `sink.ts`. */
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { choice, integer, text } from '../leaf-types.ts';
import type { Secret } from '../secret.ts';
import { always, type ValuesOf } from '../setting.ts';
import { platformSettings } from './platform.ts';
import { registrySettings } from './registry.ts';

const indexKinds = ['none', 'ivf_flat', 'ivf_pq', 'ivf_hnsw_sq'] as const;
const HOUR_MS = 3_600_000;

export const lancedbSettings = {
  lancedbPath: path('RAG_SERVING_LANCEDB_PATH', always('./data/lancedb'), {
    doc: 'Folder of the LanceDB database, or s3://bucket/folder, gs://bucket/folder, az://container/folder. One worker writes to one table. S3 takes its key, region and address from AWS_*.',
  }),
  lancedbTable: text(
    'RAG_SERVING_LANCEDB_TABLE',
    always('chunks'),
    { doc: 'LanceDB table.' },
    { test: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, says: '1–128 letters, digits, underscores, dots or hyphens' },
  ),
  lancedbIndex: choice('RAG_SERVING_LANCEDB_INDEX', indexKinds, always('none'), {
    doc: 'Vector index that the worker builds beside its work. Without one each search scans the table: exact, and slow beyond some 100,000 rows. ivf_hnsw_sq finds the most; ivf_pq is the smallest, and slow to build for FP16 vectors.',
  }),
  lancedbIndexMinRows: integer(
    'RAG_SERVING_LANCEDB_INDEX_MIN_ROWS',
    always(100_000),
    { min: 256, max: 1_000_000_000 },
    { doc: 'Rows from which on that index is built.' },
  ),
  lancedbMaintenanceIntervalMs: integer(
    'RAG_SERVING_LANCEDB_MAINTENANCE_INTERVAL_MS',
    always(60_000),
    { min: 1_000, max: 24 * HOUR_MS },
    {
      doc: 'Longest time that commits wait for a compaction, which also folds new rows into the indexes. Many commits are compacted sooner.',
    },
  ),
  lancedbKeepVersionsMs: integer(
    'RAG_SERVING_LANCEDB_KEEP_VERSIONS_MS',
    always(30_000),
    { min: 0, max: 30 * 24 * HOUR_MS },
    { doc: 'Versions of the table older than this are removed at a compaction; as long as a reader may need one.' },
  ),
} as const;

export type LancedbSinkConfig = {
  readonly kind: 'lancedb';
  readonly path: string;
  readonly table: string;
  readonly index: (typeof indexKinds)[number];
  readonly indexMinRows: number;
  readonly maintenanceIntervalMs: number;
  readonly keepVersionsMs: number;
  readonly objectStore: {
    readonly accessKeyId: Secret | undefined;
    readonly secretAccessKey: Secret | undefined;
    readonly sessionToken: Secret | undefined;
    readonly region: string;
    readonly endpoint: string | undefined;
  };
  readonly storeText: boolean;
  readonly tombstoneRetentionMs: number;
  readonly allowMixedFingerprints: boolean;
};

const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;
const KNOWN_ADDRESS = /^(s3|s3\+ddb|gs|az):\/\/[^/@?#]+\/[^?#]*[^/?#][^?#]*$/i;

export function readLancedb(
  read: EnvReader,
  value: ValuesOf<typeof lancedbSettings>,
  common: Pick<LancedbSinkConfig, 'storeText' | 'tombstoneRetentionMs' | 'allowMixedFingerprints'>,
): LancedbSinkConfig {
  read.rule(
    !ADDRESS.test(value.lancedbPath) || KNOWN_ADDRESS.test(value.lancedbPath),
    [lancedbSettings.lancedbPath],
    'is an address that no store is behind; set a folder, or s3://, gs:// or az:// with bucket and folder, without credentials or query',
  );
  return {
    kind: 'lancedb',
    path: value.lancedbPath,
    table: value.lancedbTable,
    index: value.lancedbIndex,
    indexMinRows: value.lancedbIndexMinRows,
    maintenanceIntervalMs: value.lancedbMaintenanceIntervalMs,
    keepVersionsMs: value.lancedbKeepVersionsMs,
    objectStore: {
      accessKeyId: read.read(platformSettings.awsAccessKeyId),
      secretAccessKey: read.read(platformSettings.awsSecretAccessKey),
      sessionToken: read.read(registrySettings.sessionToken),
      region: read.read(platformSettings.awsDefaultRegion),
      endpoint: read.read(platformSettings.awsEndpointUrl),
    },
    ...common,
  };
}
