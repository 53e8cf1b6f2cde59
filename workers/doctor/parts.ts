/** What the checks ask, opened by the worker's settings, and what one check found that another one needs. Connects to nothing yet. */
import type { WorkerConfig } from '../../src/config/programs.ts';
import { inferenceSettings } from '../../src/config/sections/inference.ts';
import type { InferenceClient } from '../../src/inference/client.ts';
import { createGrpcInferenceClient } from '../../src/inference/grpc-client.ts';
import { KafkaAdmin } from '../../src/kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../src/kafka/client.ts';
import type { VectorContract } from '../../src/kserve/contract.ts';
import { defaultBreakerPolicy } from '../../src/resilience/breaker.ts';
import type { RetryAdmin } from '../../src/retry/retry-admin.ts';
import type { CollectionDescription } from '../../src/sinks/sink.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { modelServerTls } from '../model-server-tls.ts';
import { openRetryAdmin } from '../retries/open.ts';

export type Parts = {
  readonly config: WorkerConfig;
  /** Limit of one question within a check, below that of the check itself: so the error says who was silent. */
  readonly callTimeoutMs: number;
  readonly log: Log;
  readonly client: KafkaClient;
  readonly admin: KafkaAdmin;
  readonly engines: readonly InferenceClient[];
  /** Undefined where there is no durable queue by these settings. */
  readonly retries: RetryAdmin | undefined;
  readonly found: Found;
};

export type Found = {
  contract?: VectorContract;
  partitions?: number;
  collections?: readonly CollectionDescription[];
  clock?: { readonly oursMs: number; readonly theirsMs: number };
};

export const SERVICE = 'rag-serving-doctor';
/** Metadata of a model. */
const RECEIVE_LIMIT_BYTES = 4 * 1_048_576;

export function openParts(config: WorkerConfig, callTimeoutMs: number, log: Log): Parts {
  const client = createKafkaClient({ ...config.kafka, clientId: SERVICE, log });
  const { endpoints, tls } = config.inference;
  const tlsFiles = modelServerTls(tls, log);
  const engines = endpoints.map((target) =>
    createGrpcInferenceClient({
      target,
      targetSetting: inferenceSettings.batchIngestGrpcUrl.name,
      receiveLimitBytes: RECEIVE_LIMIT_BYTES,
      // Each question must reach the server: what is found out is how it answers now.
      breaker: { policy: defaultBreakerPolicy, failureCodes: [] },
      ...(tlsFiles !== undefined && { tls: tlsFiles }),
    }),
  );
  const { durable, maxAttempts } = config.retry;
  const retries = durable === undefined || maxAttempts === 1 ? undefined : openRetryAdmin(config, durable, log);
  return { config, callTimeoutMs, log, client, admin: new KafkaAdmin(client), engines, retries, found: {} };
}

export async function closeParts({ admin, engines, retries }: Parts): Promise<void> {
  for (const engine of engines) engine.close();
  await Promise.all([admin.close(), retries?.close()]);
}
