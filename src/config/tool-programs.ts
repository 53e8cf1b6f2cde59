import type { Env } from './env-reader.ts';
import { finish, type Machine, openReader, thisMachine, type Warnings } from './program-reader.ts';
import { type InferenceConfig, readInference } from './sections/inference.ts';
import { type KafkaConfig, readKafka } from './sections/kafka.ts';
import { type PipelineConfig, readPipeline } from './sections/pipeline.ts';
import { type PlatformConfig, readPlatform } from './sections/platform.ts';
import { type RegistryConfig, readRegistry } from './sections/registry.ts';
import { type RetryConfig, readRetry, retrySettings } from './sections/retry.ts';
import { readSchemas, type SchemasConfig } from './sections/schemas.ts';
import { type IdentityConfig, readServer, type ServerConfig } from './sections/server.ts';
import { readShm, type ShmConfig } from './sections/shm.ts';
import { readSink, type SinkConfig, sinkSettings } from './sections/sink.ts';

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
