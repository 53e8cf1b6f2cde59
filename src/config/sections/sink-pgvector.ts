/** PostgreSQL with pgvector as a vector store: a part of the section `sink.ts`. */
import { postgresUrl } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path, type TlsPaths } from '../file-types.ts';
import { choice, integer, text } from '../leaf-types.ts';
import { judgePostgresUrl } from '../postgres-url.ts';
import type { Secret } from '../secret.ts';
import { always, unset, type ValuesOf } from '../setting.ts';

const elements = ['vector', 'halfvec'] as const;

export const pgvectorSettings = {
  pgvectorUrl: postgresUrl('RAG_SERVING_PGVECTOR_URL', 'postgres://postgres@localhost:5432/postgres', {
    doc: 'PostgreSQL of the sink pgvector: postgres://user:password@host:port/database, with ?sslmode=verify-full for TLS (require, verify-ca and disable too). Special characters of the password are percent-encoded.',
  }),
  pgvectorCaPath: path('RAG_SERVING_PGVECTOR_CA_CERT_PATH', unset, {
    doc: 'PEM file of the authorities that signed the certificate of PostgreSQL (with sslmode).',
    defaultNote: 'the authorities that Node brings',
  }),
  pgvectorCertPath: path('RAG_SERVING_PGVECTOR_CLIENT_CERT_PATH', unset, {
    doc: 'PEM certificate that the worker shows to PostgreSQL (with sslmode).',
  }),
  pgvectorKeyPath: path('RAG_SERVING_PGVECTOR_CLIENT_KEY_PATH', unset, {
    doc: 'PEM key of that certificate.',
  }),
  pgvectorTable: text(
    'RAG_SERVING_PGVECTOR_TABLE',
    always('rag_chunks'),
    { doc: 'Table, or schema.table; one table is one collection. It is made when the user may.' },
    {
      test: /^(?:[A-Za-z_][A-Za-z0-9_-]{0,62}\.)?[A-Za-z_][A-Za-z0-9_-]{0,49}$/,
      says: 'table or schema.table; the table 1–50 letters, digits, underscores or hyphens',
    },
  ),
  pgvectorElement: choice('RAG_SERVING_PGVECTOR_TYPE', elements, unset, {
    doc: 'Type of the vector column: vector has 4 bytes an element, halfvec 2.',
    defaultNote: 'what holds the vectors of the model exactly: halfvec for FP16, vector for FP32',
  }),
  pgvectorPoolSize: integer(
    'RAG_SERVING_PGVECTOR_POOL_SIZE',
    always(4),
    { min: 1, max: 100 },
    { doc: 'Connections of a worker to PostgreSQL, and so its writes at once.' },
  ),
  pgvectorStatementTimeoutMs: integer(
    'RAG_SERVING_PGVECTOR_STATEMENT_TIMEOUT_MS',
    always(30_000),
    { min: 100, max: 3_600_000 },
    { doc: 'Limit of each statement and of each wait for a lock. With a vector index, a batch may take seconds.' },
  ),
} as const;

export type PgVectorSinkConfig = {
  readonly kind: 'pgvector';
  readonly url: Secret;
  readonly tls: TlsPaths;
  readonly table: string;
  readonly element: (typeof elements)[number] | undefined;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  readonly storeText: boolean;
  readonly tombstoneRetentionMs: number;
  readonly allowMixedFingerprints: boolean;
};

type Common = Pick<PgVectorSinkConfig, 'storeText' | 'tombstoneRetentionMs' | 'allowMixedFingerprints'>;

export function readPgVector(
  read: EnvReader,
  value: ValuesOf<typeof pgvectorSettings>,
  common: Common,
): PgVectorSinkConfig {
  const all = pgvectorSettings;
  const tls = { caPath: value.pgvectorCaPath, certPath: value.pgvectorCertPath, keyPath: value.pgvectorKeyPath };
  const judged = judgePostgresUrl(value.pgvectorUrl.reveal());
  const usesTls = judged.ok && judged.value.sslMode !== 'disable';
  for (const [file, setting] of [
    [tls.caPath, all.pgvectorCaPath],
    [tls.certPath, all.pgvectorCertPath],
  ] as const) {
    read.rule(
      file === undefined || usesTls,
      [setting, all.pgvectorUrl],
      `is set while ${all.pgvectorUrl.name} has no sslmode; add ?sslmode=verify-full or unset it`,
    );
  }
  read.pair(all.pgvectorCertPath, all.pgvectorKeyPath, 'a certificate is of no use without its key');
  if (usesTls) {
    read.tlsFiles(tls, { caPath: all.pgvectorCaPath, certPath: all.pgvectorCertPath, keyPath: all.pgvectorKeyPath });
  }
  return {
    kind: 'pgvector',
    url: value.pgvectorUrl,
    tls,
    table: value.pgvectorTable,
    element: value.pgvectorElement,
    poolSize: value.pgvectorPoolSize,
    statementTimeoutMs: value.pgvectorStatementTimeoutMs,
    ...common,
  };
}
