/**
 * Several servers at once, and what a worker must be told to use them. Their starts run side by side; if one fails, the
 * others are stopped before the error goes on.
 */
import type { Report } from './cache.ts';
import { startKafka } from './kafka.ts';
import type { PartName } from './parts.ts';
import { startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';
import { startSchemaRegistry } from './schema-registry.ts';
import type { RunningServer } from './server-process.ts';
import { startTriton } from './triton.ts';

/** Environment variables of the product, e.g. `KAFKA_BOOTSTRAP_SERVERS`. */
export type Endpoints = Readonly<Record<string, string>>;

export type RunningStack = {
  readonly endpoints: Endpoints;
  readonly servers: readonly RunningServer[];
  stop(): Promise<void>;
};

type Started = { readonly server: RunningServer; readonly endpoints: Endpoints };

export type StackOptions = {
  /** What Triton serves instead of the pipelines of the pools. */
  readonly modelRepository?: string | undefined;
};

export async function startStack(
  parts: readonly PartName[],
  report: Report,
  options: StackOptions = {},
): Promise<RunningStack> {
  const starts = await Promise.allSettled(parts.map((part) => start(part, report, options)));
  const started = starts.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async () => {
    await Promise.all(started.map(({ server }) => server.stop()));
  };
  const failed = starts.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  return {
    endpoints: Object.assign({}, ...started.map(({ endpoints }) => endpoints)) as Endpoints,
    servers: started.map(({ server }) => server),
    stop,
  };
}

/** Lines that a shell can evaluate. */
export function exportLines(endpoints: Endpoints): string {
  return Object.entries(endpoints)
    .map(([name, value]) => `export ${name}=${value}\n`)
    .join('');
}

async function start(part: PartName, report: Report, { modelRepository }: StackOptions): Promise<Started> {
  switch (part) {
    case 'kafka': {
      const server = await startKafka({ onLine: report });
      return { server, endpoints: { KAFKA_BOOTSTRAP_SERVERS: server.bootstrapServers } };
    }
    case 'redis': {
      const server = await startRedis({ onLine: report, appendonly: true });
      return { server, endpoints: { RAG_SERVING_REDIS_URL: server.url } };
    }
    case 'postgres': {
      const server = await startPostgres({ onLine: report });
      return { server, endpoints: { RAG_SERVING_PGVECTOR_URL: server.url } };
    }
    case 'schemas': {
      const server = await startSchemaRegistry({ onLine: report });
      return { server, endpoints: { KAFKA_SCHEMA_REGISTRY_URL: server.url } };
    }
    case 'triton': {
      const server = await startTriton({ onLine: report, ...(modelRepository !== undefined && { modelRepository }) });
      return {
        server,
        endpoints: {
          RAG_SERVING_TRITON_GRPC_URL: server.grpcUrl,
          RAG_SERVING_TRITON_HTTP_URL: server.httpUrl,
          RAG_SERVING_TRITON_METRICS_URL: server.metricsUrl,
          RAG_SERVING_BATCH_INGEST_GRPC_URL: server.grpcUrl,
          RAG_SERVING_ONLINE_EMBED_GRPC_URL: server.grpcUrl,
          RAG_SERVING_ONLINE_RERANK_GRPC_URL: server.grpcUrl,
        },
      };
    }
  }
}
