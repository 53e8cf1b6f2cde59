/** Where the model servers are and how calls to them are secured and bounded. */
import { hostList, url } from '../address-types.ts';
import type { EnvReader } from '../env-reader.ts';
import { path, type TlsPaths } from '../file-types.ts';
import { boolean, integer, text } from '../leaf-types.ts';
import { always, byPool, type PoolType, unset } from '../setting.ts';

const local = always(Object.freeze(['localhost:8001']) as readonly string[]);

export const inferenceSettings = {
  tritonHttpUrl: url('RAG_SERVING_TRITON_HTTP_URL', always('http://localhost:8000'), ['http', 'https'], {
    doc: 'HTTP address of the Triton beside this process (repository and health calls). `rag-serving worker` asks it for readiness only where this is set.',
  }),
  tritonGrpcUrl: hostList('RAG_SERVING_TRITON_GRPC_URL', 'grpc', local, {
    doc: 'gRPC address of the Triton (or embedded engine) beside this process.',
  }),
  tritonMetricsUrl: url('RAG_SERVING_TRITON_METRICS_URL', always('http://localhost:8002/metrics'), ['http', 'https'], {
    doc: 'Where Triton shows its own Prometheus metrics. `rag-serving worker` watches GPU memory only where this is set.',
  }),
  onlineEmbedGrpcUrl: hostList('RAG_SERVING_ONLINE_EMBED_GRPC_URL', 'grpc', local, {
    doc: 'gRPC addresses of pool A (embed a query).',
  }),
  onlineRerankGrpcUrl: hostList('RAG_SERVING_ONLINE_RERANK_GRPC_URL', 'grpc', local, {
    doc: 'gRPC addresses of pool B (rerank candidates).',
  }),
  batchIngestGrpcUrl: hostList('RAG_SERVING_BATCH_INGEST_GRPC_URL', 'grpc', unset, {
    doc: 'gRPC addresses of pool C, used by the ingest worker. Shared memory needs the server on the same machine.',
    defaultNote: 'the value of RAG_SERVING_TRITON_GRPC_URL (localhost:8001)',
  }),
  modelName: text(
    'RAG_SERVING_MODEL_NAME',
    byPool('online_embedder_ensemble', 'online_reranker_ensemble', 'batch_embedder_ensemble'),
    { doc: 'Model (ensemble) that is called.' },
    { test: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, says: '1–128 letters, digits, dots, hyphens or underscores' },
  ),
  timeoutMs: integer(
    'RAG_SERVING_INFERENCE_TIMEOUT_MS',
    byPool(15, 35, 30_000),
    { min: 1, max: 600_000 },
    {
      doc: 'Deadline of one inference call, in milliseconds.',
    },
  ),
  tlsEnabled: boolean('RAG_SERVING_GRPC_TLS_ENABLED', false, { doc: 'Speak TLS to the model server.' }),
  caPath: path('RAG_SERVING_GRPC_CA_CERT_PATH', unset, {
    doc: 'PEM file of the authorities that signed the certificate of the model server.',
    defaultNote: 'the authorities that Node brings',
  }),
  certPath: path('RAG_SERVING_GRPC_CLIENT_CERT_PATH', unset, { doc: 'PEM client certificate, for mutual TLS.' }),
  keyPath: path('RAG_SERVING_GRPC_CLIENT_KEY_PATH', unset, { doc: 'PEM private key of the client certificate.' }),
  serverNameOverride: text('RAG_SERVING_GRPC_SERVER_NAME_OVERRIDE', unset, {
    doc: 'Name expected in the certificate of the model server, where it is not the host name.',
  }),
} as const;

export type InferenceTls = TlsPaths & { readonly serverNameOverride: string | undefined };

export type InferenceConfig = {
  /** What the program of this pool calls; one or more gRPC targets. */
  readonly endpoints: readonly string[];
  readonly modelName: string;
  readonly timeoutMs: number;
  /** Undefined: plain text. */
  readonly tls: InferenceTls | undefined;
  readonly tritonHttpUrl: string;
  readonly tritonGrpcUrl: readonly string[];
  readonly tritonMetricsUrl: string;
};

/** TLS to model servers, checked. Undefined: plain text. */
export function readInferenceTls(read: EnvReader): InferenceTls | undefined {
  const all = inferenceSettings;
  const value = read.section(all);
  read.pair(all.certPath, all.keyPath, 'a client certificate works only with its key');
  for (const setting of [all.caPath, all.certPath, all.keyPath, all.serverNameOverride]) {
    const used = value.tlsEnabled || !read.isSet(setting);
    read.rule(
      used,
      [setting, all.tlsEnabled],
      `is set while ${all.tlsEnabled.name} is false; switch TLS on or unset it`,
    );
  }
  const { caPath, certPath, keyPath, serverNameOverride } = value;
  if (!value.tlsEnabled) return undefined;
  read.tlsFiles({ caPath, certPath, keyPath }, all);
  return { caPath, certPath, keyPath, serverNameOverride };
}

export function readInference(read: EnvReader): InferenceConfig {
  const tls = readInferenceTls(read);
  const value = read.section(inferenceSettings);
  const byPoolEndpoints: Readonly<Record<PoolType, readonly string[]>> = {
    online_embedding: value.onlineEmbedGrpcUrl,
    online_reranker: value.onlineRerankGrpcUrl,
    batch_ingestion: value.batchIngestGrpcUrl ?? value.tritonGrpcUrl,
  };
  return {
    endpoints: byPoolEndpoints[read.pool],
    modelName: value.modelName,
    timeoutMs: value.timeoutMs,
    tls,
    tritonHttpUrl: value.tritonHttpUrl,
    tritonGrpcUrl: value.tritonGrpcUrl,
    tritonMetricsUrl: value.tritonMetricsUrl,
  };
}
