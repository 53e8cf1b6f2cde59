import { describe, expect, it } from 'vitest';
import { type Env, EnvReader } from '../../../../src/config/env-reader.ts';
import { readWorkerConfig } from '../../../../src/config/programs.ts';
import { readSink } from '../../../../src/config/sections/sink.ts';
import { createKafkaClient } from '../../../../src/kafka/client.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { collectionOf, openRetries } from '../../../../workers/worker/retries.ts';
import { machine, minimal } from '../../config/machine.ts';

function collection(env: Env): string {
  return collectionOf(readSink(new EnvReader(env, { pool: 'batch_ingestion' })));
}

describe('the collection that a retry queue belongs to', () => {
  const redis = { RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: 'redis://u:pw-SENTINEL@one:6379/1' };
  const postgres = { RAG_SERVING_SINK: 'pgvector', RAG_SERVING_PGVECTOR_URL: 'postgres://u:pw-SENTINEL@one:5432/db' };
  const different: readonly Env[] = [
    {},
    { RAG_SERVING_LANCEDB_PATH: '/elsewhere' },
    { RAG_SERVING_LANCEDB_TABLE: 'others' },
    { RAG_SERVING_SINK: 'memory' },
    redis,
    { ...redis, RAG_SERVING_REDIS_KEY_PREFIX: 'other:' },
    { ...redis, RAG_SERVING_REDIS_URL: 'redis://two:6379/1' },
    { ...redis, RAG_SERVING_REDIS_URL: 'redis://one:6379/2' },
    postgres,
    { ...postgres, RAG_SERVING_PGVECTOR_TABLE: 'others' },
    { ...postgres, RAG_SERVING_PGVECTOR_URL: 'postgres://u@one:5432/other' },
    { ...redis, ...postgres, RAG_SERVING_SINK: 'redis,pgvector' },
  ];

  it('differs with the kind of store, its place and its name', () => {
    expect(new Set(different.map(collection)).size).toBe(different.length);
  });

  it('is the same for another user of the same store, and holds no secret', () => {
    expect(collection({ ...redis, RAG_SERVING_REDIS_URL: 'redis://one/1' })).toBe(collection(redis));
    expect(collection({ ...postgres, RAG_SERVING_PGVECTOR_URL: 'postgres://v@one/db' })).toBe(collection(postgres));
    const both = { ...redis, ...postgres, RAG_SERVING_SINK: 'redis,pgvector' };
    for (const env of [redis, postgres, both]) expect(collection(env)).not.toContain('SENTINEL');
  });
});

it('there is no retry queue without a Redis for it', async () => {
  const config = readWorkerConfig(minimal, machine());
  const client = createKafkaClient({ ...config.kafka, clientId: 'test', log: silentLog });
  expect(await openRetries(config, client, silentLog)).toBeUndefined();
});
