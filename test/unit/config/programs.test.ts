import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config/env-reader.ts';
import { readEngineConfig, readWorkerConfig } from '../../../src/config/programs.ts';
import { printableConfig, secretSpellings } from '../../../src/config/redact.ts';
import { readProduceConfig } from '../../../src/config/tool-programs.ts';
import { machine, minimal, problemsOf } from './machine.ts';

const worker = (env: Env = {}) => readWorkerConfig({ ...minimal, ...env }, machine());
const problems = (env: Env) => problemsOf(() => worker(env));

describe('readWorkerConfig', () => {
  it('has the defaults of the batch pool', () => {
    const config = worker();
    expect(config.pool).toBe('batch_ingestion');
    expect(config.workerId).toBe('node-7.example');
    expect(config.inference).toMatchObject({
      endpoints: ['localhost:8001'],
      modelName: 'batch_embedder_ensemble',
      timeoutMs: 30_000,
      tls: undefined,
    });
    expect(config.pipeline).toMatchObject({
      maxBatchSize: 256,
      maxWaitMs: 50,
      maxTextBytes: 65_536,
      batchesInFlight: 4,
      deadLetterTopic: 'rag.ingestion.chunks.dlq',
    });
    expect(config.sink).toEqual({
      kind: 'lancedb',
      path: './data/lancedb',
      index: 'none',
      indexMinRows: 100_000,
      maintenanceIntervalMs: 60_000,
      keepVersionsMs: 30_000,
      objectStore: {
        accessKeyId: undefined,
        secretAccessKey: undefined,
        sessionToken: undefined,
        region: 'us-east-1',
        endpoint: undefined,
      },
      table: 'chunks',
      storeText: true,
      tombstoneRetentionMs: 604_800_000,
      allowMixedFingerprints: false,
    });
    expect(config.warnings).toEqual([]);
  });

  it('is frozen through and through', () => {
    const config = worker();
    expect(() => Object.assign(config.pipeline, { maxBatchSize: 1 })).toThrow(TypeError);
    expect(() => (config.kafka.bootstrapServers as string[]).push('x')).toThrow(TypeError);
  });

  it('without brokers names the setting and the way to a local broker', () => {
    const [problem] = problemsOf(() => readWorkerConfig({}, machine()));
    expect(problem).toMatch(/^KAFKA_BOOTSTRAP_SERVERS is unset; .*make demo/);
  });

  it('goes to the neighbouring Triton unless the batch pool has an address of its own', () => {
    expect(worker({ RAG_SERVING_TRITON_GRPC_URL: 'triton:8001' }).inference.endpoints).toEqual(['triton:8001']);
    const both = { RAG_SERVING_TRITON_GRPC_URL: 'triton:8001', RAG_SERVING_BATCH_INGEST_GRPC_URL: 'a:1, [::1]:2' };
    expect(worker(both).inference.endpoints).toEqual(['a:1', '[::1]:2']);
  });

  it('tames a host name that would make a bad file name', () => {
    const odd = machine({ hostName: '../host name' });
    expect(readWorkerConfig(minimal, odd).workerId).toBe('host-name');
  });

  it('warns of a misspelt setting and goes on', () => {
    expect(worker({ RAG_SERVING_SINKS: 'redis' }).warnings).toEqual([
      'RAG_SERVING_SINKS is no setting and has no effect; did you mean RAG_SERVING_SINK?',
    ]);
  });

  it('warns of a password that travels in the clear', () => {
    const sasl = { KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'pw-SENTINEL' };
    expect(worker(sasl).warnings.join()).toMatch(/KAFKA_SASL_PASSWORD travels unencrypted/);
    expect(worker({ ...sasl, KAFKA_SASL_MECHANISM: 'scram-sha-512' }).kafka.sasl?.mechanism).toBe('SCRAM-SHA-512');
  });
});

describe('rules across settings', () => {
  const cases: { name: string; env: Env; names: RegExp[] }[] = [
    { name: 'SASL user without password', env: { KAFKA_SASL_USERNAME: 'u' }, names: [/^KAFKA_SASL_PASSWORD is unset/] },
    { name: 'SASL password without user', env: { KAFKA_SASL_PASSWORD: 'p' }, names: [/^KAFKA_SASL_USERNAME is unset/] },
    {
      name: 'TLS certificate without key',
      env: { RAG_SERVING_GRPC_CLIENT_CERT_PATH: '/x', RAG_SERVING_GRPC_TLS_ENABLED: 'true' },
      names: [
        /^RAG_SERVING_GRPC_CLIENT_KEY_PATH is unset/,
        /^RAG_SERVING_GRPC_CLIENT_CERT_PATH names a file that does/,
      ],
    },
    {
      name: 'TLS files while TLS is off',
      env: { KAFKA_CA_CERT_PATH: '/ca.pem' },
      names: [/^KAFKA_CA_CERT_PATH is set while KAFKA_TLS_ENABLED is false/],
    },
    {
      name: 'a slot smaller than one text',
      env: { RAG_SERVING_SHM_SLOT_INPUT_BYTES: '65536' },
      names: [/^RAG_SERVING_SHM_SLOT_INPUT_BYTES .*set at least 65540/],
    },
    {
      name: 'more batches than slots',
      env: { RAG_SERVING_BATCHES_IN_FLIGHT: '5' },
      names: [/^RAG_SERVING_BATCHES_IN_FLIGHT \(5\) is more than RAG_SERVING_SHM_SLOTS \(4\)/],
    },
    { name: 'a batch of none', env: { RAG_SERVING_MAX_BATCH_SIZE: '0' }, names: [/^RAG_SERVING_MAX_BATCH_SIZE got/] },
    {
      name: 'fewer chunks in flight than a batch holds',
      env: { RAG_SERVING_MAX_IN_FLIGHT_CHUNKS: '255' },
      names: [/^RAG_SERVING_MAX_IN_FLIGHT_CHUNKS/],
    },
    {
      name: 'a drain that outlives the session',
      env: { RAG_SERVING_DRAIN_TIMEOUT_MS: '45000' },
      names: [/^RAG_SERVING_DRAIN_TIMEOUT_MS .*not below KAFKA_SESSION_TIMEOUT_MS/],
    },
    {
      name: 'dead letters into the topic that is read',
      env: { RAG_SERVING_DEAD_LETTER_TOPIC: 'rag.ingestion.chunks' },
      names: [/^RAG_SERVING_DEAD_LETTER_TOPIC equals KAFKA_TOPIC/],
    },
    {
      name: 'more static GPU memory than there is',
      env: { RAG_SERVING_MAX_STATIC_VRAM_BYTES: '25769803777' },
      names: [/^RAG_SERVING_MAX_STATIC_VRAM_BYTES/],
    },
    {
      name: 'half of an AWS key',
      env: { AWS_ACCESS_KEY_ID: 'AKIA' },
      names: [/^AWS_SECRET_ACCESS_KEY is unset/],
    },
    {
      name: 'another pool on the ingest worker',
      env: { RAG_SERVING_POOL_TYPE: 'online_reranker' },
      names: [/^RAG_SERVING_POOL_TYPE is online_reranker/],
    },
    {
      name: 'a CA for a Redis without TLS',
      env: { RAG_SERVING_REDIS_CA_CERT_PATH: '/ca.pem' },
      names: [/^RAG_SERVING_REDIS_CA_CERT_PATH is set while RAG_SERVING_REDIS_URL is not rediss/],
    },
    {
      name: 'deletions that are forgotten before the last retry of a chunk',
      env: { RAG_SERVING_TOMBSTONE_RETENTION_MS: '75000' },
      names: [
        /^RAG_SERVING_TOMBSTONE_RETENTION_MS \(75000\) is not above the 75000 ms .*RAG_SERVING_RETRY_MAX_ATTEMPTS/,
      ],
    },
    {
      name: 'three faults of three sections',
      env: { RAG_SERVING_SERVER_PORT: 'http', KAFKA_TOPIC: 'a topic', RAG_SERVING_VRAM_MAX_UTILIZATION_RATIO: '85' },
      names: [/^RAG_SERVING_SERVER_PORT/, /^KAFKA_TOPIC/, /^RAG_SERVING_VRAM_MAX_UTILIZATION_RATIO/],
    },
  ];
  for (const { name, env, names } of cases) {
    it(name, () => expect(problems(env)).toEqual(names.map((says) => expect.stringMatching(says))));
  }

  it('slots bind nothing while shared memory is off', () => {
    const env = {
      RAG_SERVING_SHM_MODE: 'off',
      RAG_SERVING_BATCHES_IN_FLIGHT: '9',
      RAG_SERVING_SHM_SLOT_INPUT_BYTES: '4096',
    };
    expect(problems(env)).toEqual([]);
  });
});

describe('secrets (M09)', () => {
  const env = {
    RAG_SERVING_API_KEY: 'api-SENTINEL',
    KAFKA_SASL_USERNAME: 'u',
    KAFKA_SASL_PASSWORD: 'sasl-SENTINEL',
    RAG_SERVING_SINK: 'redis',
    RAG_SERVING_REDIS_URL: 'redis://default:redis%2FSENTINEL@localhost:6379/1',
    AWS_ACCESS_KEY_ID: 'id-SENTINEL',
    AWS_SECRET_ACCESS_KEY: 'aws-SENTINEL',
    AWS_ENDPOINT_URL: 'http://minio:minio-SENTINEL@localhost:9000',
    HF_TOKEN: 'hf-SENTINEL',
    PROMETHEUS_BEARER_TOKEN: 'prom-SENTINEL',
  };

  it('are in no print of the configuration', () => {
    const config = worker(env);
    for (const print of [JSON.stringify(printableConfig(config)), inspect(printableConfig(config), { depth: 9 })]) {
      expect(print).not.toContain('SENTINEL');
      expect(print).toContain('[set]');
      expect(print).toContain('redis://[redacted]@localhost:6379/1');
    }
  });

  it('that are Secrets survive an accidental print too', () => {
    const { server, kafka, sink } = worker(env);
    for (const print of [JSON.stringify({ server, kafka, sink }), inspect({ server, kafka, sink }, { depth: 9 })]) {
      expect(print).not.toContain('SENTINEL');
    }
    expect(`${server.apiKey}`).toBe('[set]');
  });

  it('are all told to the logger, in each spelling', () => {
    const spellings = secretSpellings(worker(env));
    for (const one of ['api', 'sasl', 'id', 'aws', 'hf', 'prom', 'minio'])
      expect(spellings).toContain(`${one}-SENTINEL`);
    expect(spellings).toEqual(expect.arrayContaining(['redis%2FSENTINEL', 'redis/SENTINEL']));
    expect([...spellings].sort((a, b) => b.length - a.length).map((one) => one.length)).toEqual(
      spellings.map((one) => one.length),
    );
  });
});

describe('readProduceConfig and readEngineConfig', () => {
  it('produce needs brokers from somewhere', () => {
    expect(problemsOf(() => readProduceConfig({}, {}, machine()))).toHaveLength(1);
    expect(readProduceConfig({}, { brokersElsewhere: true }, machine()).kafka.bootstrapServers).toEqual([]);
  });
  it('produce does not mind a fault in the store', () => {
    expect(readProduceConfig({ ...minimal, RAG_SERVING_SINK: 'nope' }, {}, machine()).kafka.topic).toBe(
      'rag.ingestion.chunks',
    );
  });
  it('the cache folder follows our setting, then XDG, then home', () => {
    const dir = (env: Env) => readEngineConfig(env, machine()).cacheDir;
    expect(dir({ RAG_SERVING_CACHE_DIR: '/mine', XDG_CACHE_HOME: '/xdg' })).toBe('/mine');
    expect(dir({ XDG_CACHE_HOME: '/xdg' })).toBe('/xdg/rag-inference-serving');
    expect(dir({ XDG_CACHE_HOME: '' })).toBe('/home/someone/.cache/rag-inference-serving');
  });
});
