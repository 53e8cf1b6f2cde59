import { longestSpanMs } from '../resilience/backoff.ts';
import type { Env } from './env-reader.ts';
import { finish, type Machine, openReader, thisMachine, type Warnings } from './program-reader.ts';
import { type InferenceConfig, readInference } from './sections/inference.ts';
import { type KafkaConfig, readKafka } from './sections/kafka.ts';
import { type OnlineConfig, readOnline } from './sections/online.ts';
import { type PipelineConfig, readPipeline } from './sections/pipeline.ts';
import { type PlatformConfig, readCacheDir, readPlatform } from './sections/platform.ts';
import { type ReadinessConfig, readReadiness } from './sections/readiness.ts';
import { type RetryConfig, readRetry, retrySettings } from './sections/retry.ts';
import { readSchemas, type SchemasConfig } from './sections/schemas.ts';
import { type IdentityConfig, readServer, type ServerConfig, serverSettings } from './sections/server.ts';
import { readShm, type ShmConfig } from './sections/shm.ts';
import { readSink, type SinkConfig, sinkSettings } from './sections/sink.ts';
import { readSpot, type SpotConfig } from './sections/spot.ts';
import { readTraces, type TracesConfig } from './sections/traces.ts';
import type { PoolType } from './setting.ts';

export type WorkerConfig = Warnings &
  IdentityConfig & {
    readonly pool: PoolType;
    readonly server: ServerConfig;
    readonly inference: InferenceConfig;
    readonly readiness: ReadinessConfig;
    readonly shm: ShmConfig;
    readonly kafka: KafkaConfig;
    readonly schemas: SchemasConfig;
    readonly sink: SinkConfig;
    readonly pipeline: PipelineConfig;
    readonly retry: RetryConfig;
    readonly spot: SpotConfig;
    readonly traces: TracesConfig;
    readonly platform: PlatformConfig;
  };

/** The ingest worker serves pool C whatever the general default is; another pool on it is a deployment mistake. */
export function readWorkerConfig(env: Env, machine: Machine = thisMachine()): WorkerConfig {
  return workerConfig(env, {}, machine);
}

/** `reembed` works as the worker of the same settings does, and also without a broker: then from stored text only. */
export function readReembedConfig(env: Env, machine: Machine = thisMachine()): WorkerConfig {
  return workerConfig(env, { brokersElsewhere: true }, machine);
}

function workerConfig(env: Env, options: { readonly brokersElsewhere?: boolean }, machine: Machine): WorkerConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { server, identity } = readServer(read, machine.hostName);
  const chosen = read.isSet(serverSettings.poolType) ? read.read(serverSettings.poolType) : read.pool;
  read.rule(
    chosen === read.pool,
    [serverSettings.poolType],
    `is ${chosen}, and the ingest worker serves batch_ingestion; unset it or set batch_ingestion`,
  );
  const kafka = readKafka(read, options);
  const shm = readShm(read);
  const sink = readSink(read, kafka);
  const retry = readRetry(read);
  const retrySpanMs = longestSpanMs(retry.maxAttempts - 1, retry.backoff);
  read.rule(
    sink.tombstoneRetentionMs > retrySpanMs,
    [sinkSettings.tombstoneRetentionMs, retrySettings.maxAttempts, retrySettings.baseMs, retrySettings.maxMs],
    `(${sink.tombstoneRetentionMs}) is not above the ${retrySpanMs} ms that the retries of a chunk can take (${retrySettings.maxAttempts.name}, ${retrySettings.maxMs.name}): a retry could bring a deleted chunk back; raise it`,
  );
  const config = {
    pool: read.pool,
    ...identity,
    server,
    inference: readInference(read),
    readiness: readReadiness(read, { besideTriton: false }),
    shm,
    kafka,
    schemas: readSchemas(read, kafka.topic),
    sink,
    pipeline: readPipeline(read, { kafka, shm }),
    retry,
    spot: readSpot(read),
    traces: readTraces(read),
    platform: readPlatform(read),
  };
  return finish(read, config);
}

export type IngestConfig = Warnings &
  IdentityConfig & {
    readonly inference: InferenceConfig;
    readonly readiness: ReadinessConfig;
    readonly shm: ShmConfig;
    readonly sink: SinkConfig;
    readonly pipeline: PipelineConfig;
    /** Of the engine that `ingest` may start by itself. */
    readonly cacheDir: string;
  };

/** `ingest` is the worker's pipeline without Kafka: its settings are the worker's, but for those of the broker. */
export function readIngestConfig(env: Env, machine: Machine = thisMachine()): IngestConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { identity } = readServer(read, machine.hostName);
  const shm = readShm(read);
  const kafka = readKafka(read, { brokersElsewhere: true });
  return finish(read, {
    ...identity,
    inference: readInference(read),
    readiness: readReadiness(read, { besideTriton: false }),
    shm,
    sink: readSink(read),
    pipeline: readPipeline(read, { kafka, shm }),
    cacheDir: readCacheDir(read, machine.homeDir),
  });
}

export type OpsConfig = Warnings &
  IdentityConfig & {
    readonly pool: PoolType;
    readonly server: ServerConfig;
    readonly inference: InferenceConfig;
    readonly readiness: ReadinessConfig;
    readonly platform: PlatformConfig;
  };

/** The ops sidecar stands beside the Triton of any pool; which one it is decides the default model. */
export function readOpsConfig(env: Env, machine: Machine = thisMachine()): OpsConfig {
  const pool = openReader(env, machine, 'online_embedding').read(serverSettings.poolType);
  const read = openReader(env, machine, pool);
  const { server, identity } = readServer(read, machine.hostName);
  return finish(read, {
    pool,
    ...identity,
    server,
    inference: readInference(read),
    readiness: readReadiness(read, { besideTriton: true }),
    platform: readPlatform(read),
  });
}

export type EngineConfig = Warnings &
  IdentityConfig & {
    /** Folder for fetched models; created on first use. */
    readonly cacheDir: string;
    readonly shmBasePath: string;
  };

export function readEngineConfig(env: Env, machine: Machine = thisMachine()): EngineConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { identity } = readServer(read, machine.hostName);
  return finish(read, {
    ...identity,
    cacheDir: readCacheDir(read, machine.homeDir),
    shmBasePath: readShm(read).basePath,
  });
}

/** What a search imports: the endpoints of both online pools and how they are called. */
export function readOnlineConfig(env: Env, machine: Machine = thisMachine()): OnlineConfig & Warnings {
  const read = openReader(env, machine, 'online_embedding');
  return finish(read, readOnline(read));
}
