/**
 * The configuration of each program: which sections it reads and the rules between them. Each reads the whole
 * environment once and reports every problem at once.
 */
import { homedir, hostname } from 'node:os';
import { longestSpanMs } from '../resilience/backoff.ts';
import { allSettings } from './catalogue.ts';
import { type Env, EnvReader } from './env-reader.ts';
import { type ReadFile, readTextFile } from './file-types.ts';
import { deepFreeze } from './freeze.ts';
import { type InferenceConfig, readInference } from './sections/inference.ts';
import { type KafkaConfig, readKafka } from './sections/kafka.ts';
import { type OnlineConfig, readOnline } from './sections/online.ts';
import { type PipelineConfig, readPipeline } from './sections/pipeline.ts';
import { type PlatformConfig, readCacheDir, readPlatform } from './sections/platform.ts';
import { type ReadinessConfig, readReadiness } from './sections/readiness.ts';
import { type RegistryConfig, readRegistry } from './sections/registry.ts';
import { type RetryConfig, readRetry, retrySettings } from './sections/retry.ts';
import { readSchemas, type SchemasConfig } from './sections/schemas.ts';
import { type IdentityConfig, readServer, type ServerConfig, serverSettings } from './sections/server.ts';
import { readShm, type ShmConfig } from './sections/shm.ts';
import { readSink, type SinkConfig, sinkSettings } from './sections/sink.ts';
import { readSpot, type SpotConfig } from './sections/spot.ts';
import { readTraces, type TracesConfig } from './sections/traces.ts';
import type { PoolType } from './setting.ts';
import { unknownNameWarnings } from './unknown-names.ts';

/** What is true of the machine rather than of the deployment; tests give their own. */
export type Machine = {
  readonly hostName: string;
  readonly homeDir: string;
  readonly nowMs: number;
  readonly readFile: ReadFile;
};

export function thisMachine(): Machine {
  return { hostName: hostname(), homeDir: homedir(), nowMs: Date.now(), readFile: readTextFile };
}

export type Warnings = { readonly warnings: readonly string[] };

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

export type ProduceConfig = Warnings & IdentityConfig & { readonly kafka: KafkaConfig };

/** `produce` reads how to reach the brokers and the schema registry; options of the command line come before. */
export function readProduceConfig(
  env: Env,
  options: { readonly brokersElsewhere?: boolean } = {},
  machine: Machine = thisMachine(),
): ProduceConfig & { readonly schemas: SchemasConfig } {
  const read = openReader(env, machine, 'batch_ingestion');
  const { identity } = readServer(read, machine.hostName);
  const kafka = readKafka(read, options);
  return finish(read, { ...identity, kafka, schemas: readSchemas(read, kafka.topic) });
}

export type DlqConfig = ProduceConfig & { readonly deadLetterTopic: string };

/** `dlq` looks at what the worker of the same settings has dead-lettered. */
export function readDlqConfig(env: Env, machine: Machine = thisMachine()): DlqConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { identity } = readServer(read, machine.hostName);
  const kafka = readKafka(read);
  const { deadLetterTopic } = readPipeline(read, { kafka, shm: readShm(read) });
  return finish(read, { ...identity, kafka, deadLetterTopic });
}

export type PlanConfig = Warnings &
  IdentityConfig & {
    readonly shm: ShmConfig;
    readonly pipeline: PipelineConfig;
    readonly platform: PlatformConfig;
    readonly storeText: boolean;
  };

/** `plan` counts with the settings that a worker of this environment would have; it connects to nothing. */
export function readPlanConfig(env: Env, machine: Machine = thisMachine()): PlanConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { identity } = readServer(read, machine.hostName);
  const shm = readShm(read);
  const kafka = readKafka(read, { brokersElsewhere: true });
  const pipeline = readPipeline(read, { kafka, shm });
  const storeText = read.read(sinkSettings.storeText);
  return finish(read, { ...identity, shm, pipeline, platform: readPlatform(read), storeText });
}

export type RetriesConfig = ProduceConfig & { readonly sink: SinkConfig; readonly retry: RetryConfig };

/** `retries` looks at the queue of the worker of the same settings, whose name comes from group, topic and store. */
export function readRetriesConfig(env: Env, machine: Machine = thisMachine()): RetriesConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { identity } = readServer(read, machine.hostName);
  const kafka = readKafka(read, { brokersElsewhere: true });
  const [sink, retry] = [readSink(read, kafka), readRetry(read)];
  read.rule(
    retry.durable !== undefined,
    [retrySettings.redisUrl],
    'is unset, and so is RAG_SERVING_REDIS_URL: a worker of these settings has no retry queue',
  );
  return finish(read, { ...identity, kafka, sink, retry });
}

export type StatusConfig = DlqConfig & {
  readonly sink: SinkConfig;
  readonly retry: RetryConfig;
  readonly inference: InferenceConfig;
  /** Of the workers' ops servers. */
  readonly apiKey: ServerConfig['apiKey'];
};

/** `status` looks at all that the worker of the same settings works with. */
export function readStatusConfig(env: Env, machine: Machine = thisMachine()): StatusConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { server, identity } = readServer(read, machine.hostName);
  const kafka = readKafka(read);
  const { deadLetterTopic } = readPipeline(read, { kafka, shm: readShm(read) });
  const [sink, retry, inference] = [readSink(read), readRetry(read), readInference(read)];
  return finish(read, { ...identity, kafka, deadLetterTopic, sink, retry, inference, apiKey: server.apiKey });
}

export type SearchConfig = Warnings & IdentityConfig & { readonly sink: SinkConfig };

/** `search` reads the store of the worker; how the models are asked is the online module's own part. */
export function readSearchConfig(env: Env, machine: Machine = thisMachine()): SearchConfig {
  const read = openReader(env, machine, 'online_embedding');
  return finish(read, { ...readServer(read, machine.hostName).identity, sink: readSink(read) });
}

export type ModelCallConfig = Warnings & IdentityConfig & Pick<InferenceConfig, 'tritonGrpcUrl' | 'tls'>;

/** `models check` and `models golden`: how to reach one model server; options of the command line come before. */
export function readModelCallConfig(env: Env, machine: Machine = thisMachine()): ModelCallConfig {
  const read = openReader(env, machine, 'batch_ingestion');
  const { identity } = readServer(read, machine.hostName);
  const { tritonGrpcUrl, tls } = readInference(read);
  return finish(read, { ...identity, tritonGrpcUrl, tls });
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

export type EngineBuildConfig = Warnings & { readonly platform: PlatformConfig };

/** The build of a TensorRT engine reads how much GPU memory models may hold. */
export function readEngineBuildConfig(env: Env, machine: Machine = thisMachine()): EngineBuildConfig {
  const read = openReader(env, machine, 'online_embedding');
  return finish(read, { platform: readPlatform(read) });
}

export type ModelsConfig = Warnings & IdentityConfig & { readonly registry: RegistryConfig };

/** `models` reads where the registry is and nothing else. */
export function readModelsConfig(env: Env, machine: Machine = thisMachine()): ModelsConfig {
  const read = openReader(env, machine, 'online_embedding');
  const { identity } = readServer(read, machine.hostName);
  return finish(read, { ...identity, registry: readRegistry(read) });
}

/** What a search imports: the endpoints of both online pools and how they are called. */
export function readOnlineConfig(env: Env, machine: Machine = thisMachine()): OnlineConfig & Warnings {
  const read = openReader(env, machine, 'online_embedding');
  return finish(read, readOnline(read));
}

function openReader(env: Env, machine: Machine, pool: PoolType): EnvReader {
  return new EnvReader(env, { pool, nowMs: machine.nowMs, readFile: machine.readFile });
}

function finish<T>(read: EnvReader, config: T): T & Warnings {
  const names = allSettings.map((setting) => setting.name);
  for (const warning of unknownNameWarnings(read.variableNames, names)) read.warn(warning);
  read.finish();
  return deepFreeze({ ...config, warnings: read.warnings });
}
