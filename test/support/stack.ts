/**
 * Servers for a test file: `const kafka = useKafka()`, `const redis = useRedis()`, `usePostgres()`, `useTriton()` at the top of a
 * file or describe start one before its tests and stop it after them; read them inside tests as `kafka().bootstrapServers`,
 * `redis().url`, `triton().grpcUrl`, `s3().url` (useS3). Each is its own instance on free ports; options as of startKafka, startRedis …
 */
import { afterAll, beforeAll } from 'vitest';
import { type KafkaOptions, type RunningKafka, startKafka } from '../../scripts/stack/kafka.ts';
import { type PostgresOptions, type RunningPostgres, startPostgres } from '../../scripts/stack/postgres.ts';
import { type RedisOptions, type RunningRedis, startRedis } from '../../scripts/stack/redis.ts';
import { type RunningS3, type S3Options, startS3 } from '../../scripts/stack/s3.ts';
import {
  type RunningSchemaRegistry,
  type SchemaRegistryOptions,
  startSchemaRegistry,
} from '../../scripts/stack/schema-registry.ts';
import type { RunningServer } from '../../scripts/stack/server-process.ts';
import { type RunningTriton, startTriton, type TritonOptions } from '../../scripts/stack/triton.ts';

/** The first start on a machine fetches the parts. */
const START_TIMEOUT_MS = 10 * 60_000;

export function useKafka(options: KafkaOptions = {}): () => RunningKafka {
  return useServer('Kafka', () => startKafka(options));
}

export function useRedis(options: RedisOptions = {}): () => RunningRedis {
  return useServer('Redis', () => startRedis(options));
}

export function usePostgres(options: PostgresOptions = {}): () => RunningPostgres {
  return useServer('PostgreSQL', () => startPostgres(options));
}

/** `models` limits what is loaded, e.g. `['batch_embedder_ensemble']`: each model is a Python process of 40–150 MB. */
export function useTriton(options: TritonOptions = {}): () => RunningTriton {
  return useServer('Triton', () => startTriton(options));
}

export function useS3(options: S3Options = {}): () => RunningS3 {
  return useServer('S3', () => startS3(options));
}

export function useSchemaRegistry(options: SchemaRegistryOptions = {}): () => RunningSchemaRegistry {
  return useServer('the schema registry', () => startSchemaRegistry(options));
}

function useServer<T extends RunningServer>(name: string, start: () => Promise<T>): () => T {
  let server: T | undefined;
  beforeAll(async () => {
    server = await start();
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await server?.stop();
  });
  return () => {
    if (server === undefined)
      throw new Error(`${name} is started before the tests of this file: read it inside a test`);
    return server;
  };
}
