import { describe, expect, it } from 'vitest';
import { allSettings, defaultText, renderEnvExample } from '../../../src/config/catalogue.ts';
import { readEngineConfig, readWorkerConfig } from '../../../src/config/programs.ts';
import { printableConfig } from '../../../src/config/redact.ts';
import { readProduceConfig } from '../../../src/config/tool-programs.ts';
import { machine, minimal } from './machine.ts';

describe('the catalogue', () => {
  it('has every name once, with a sentence and a kind', () => {
    const names = allSettings.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const setting of allSettings) {
      expect(setting.doc, setting.name).toMatch(/^\S.*\.$/s);
      expect(setting.accepts, setting.name).not.toBe('');
    }
  });

  it('has the defaults of the design', () => {
    const defaults = Object.fromEntries(allSettings.map((one) => [one.name, defaultText(one, 'online_embedding')]));
    expect(defaults).toMatchObject({
      RAG_SERVING_POOL_TYPE: 'online_embedding',
      RAG_SERVING_SERVER_HOST: '0.0.0.0',
      RAG_SERVING_SERVER_PORT: '8080',
      RAG_SERVING_TRITON_HTTP_URL: 'http://localhost:8000',
      RAG_SERVING_TRITON_GRPC_URL: 'localhost:8001',
      RAG_SERVING_TRITON_METRICS_URL: 'http://localhost:8002/metrics',
      RAG_SERVING_ONLINE_EMBED_GRPC_URL: 'localhost:8001',
      RAG_SERVING_ONLINE_RERANK_GRPC_URL: 'localhost:8001',
      RAG_SERVING_VRAM_CAPACITY_BYTES: '25769803776',
      RAG_SERVING_MAX_STATIC_VRAM_BYTES: '21474836480',
      RAG_SERVING_VRAM_MAX_UTILIZATION_RATIO: '0.85',
      RAG_SERVING_SHM_BASE_PATH: '/dev/shm',
      RAG_SERVING_GRPC_TLS_ENABLED: 'false',
      RAG_SERVING_LOG_LEVEL: 'INFO',
      RAG_SERVING_MAX_TEXT_BYTES: '65536',
      KAFKA_CONSUMER_GROUP: 'rag-batch-embedder-group',
      KAFKA_TOPIC: 'rag.ingestion.chunks',
      PROMETHEUS_SERVER_ADDRESS: 'http://prometheus-k8s.monitoring.svc:9090',
      AWS_DEFAULT_REGION: 'us-east-1',
      MODEL_REGISTRY_STORAGE_URI: 's3://rag-model-cache/tensorrt-engines/',
    });
    const of = (name: string, pool: 'online_embedding' | 'online_reranker' | 'batch_ingestion') =>
      defaultText(allSettings.find((one) => one.name === name)!, pool);
    const delay = 'RAG_SERVING_MAX_QUEUE_DELAY_MICROSECONDS';
    const batch = 'RAG_SERVING_MAX_BATCH_SIZE';
    expect([of(delay, 'online_embedding'), of(batch, 'online_embedding')]).toEqual(['2000', '32']);
    expect([of(delay, 'online_reranker'), of(batch, 'online_reranker')]).toEqual(['4000', '32']);
    expect([of(delay, 'batch_ingestion'), of(batch, 'batch_ingestion')]).toEqual(['50000', '256']);
  });

  it('accepts each of its own defaults', () => {
    for (const setting of allSettings) {
      for (const pool of ['online_embedding', 'online_reranker', 'batch_ingestion'] as const) {
        const text = defaultText(setting, pool);
        if (text !== undefined) expect(setting.parse(text).ok, setting.name).toBe(true);
      }
    }
  });
});

describe('.env.example', () => {
  it('equals the catalogue (write it again with `npx vitest run --project unit test/unit/config -u`)', async () => {
    await expect(renderEnvExample()).toMatchFileSnapshot('../../../.env.example');
  });

  it('uncommented as it stands, gives the same configuration as no environment at all', () => {
    const lines = renderEnvExample()
      .split('\n')
      .filter((line) => /^#[A-Z_]+=/.test(line));
    expect(lines.length).toBe(allSettings.length);
    const shown = Object.fromEntries(lines.map((line) => line.slice(1).split(/=(.*)/s).slice(0, 2)));
    // The one kind of setting that must not be left empty.
    const env = Object.fromEntries(
      Object.entries(shown).filter(([name]) => !allSettings.some((one) => one.name === name && one.emptyProblem)),
    );
    // What depends on the pool is shown for online_embedding; the worker is of another pool.
    const byPool = allSettings.filter(({ fallback }) => fallback.kind === 'by-pool').map(({ name }) => name);
    // That they are set at all switches durable retries on, and the worker's looks at Triton.
    const switches = ['RAG_SERVING_REDIS_URL', 'RAG_SERVING_TRITON_HTTP_URL', 'RAG_SERVING_TRITON_METRICS_URL'];
    for (const name of ['RAG_SERVING_POOL_TYPE', ...switches, ...byPool]) delete env[name];
    const full = { ...env, ...minimal };
    const plain = (config: unknown) => printableConfig(config);
    expect(plain(readWorkerConfig(full, machine()))).toEqual(plain(readWorkerConfig(minimal, machine())));
    expect(plain(readProduceConfig(full, {}, machine()))).toEqual(plain(readProduceConfig(minimal, {}, machine())));
    expect(plain(readEngineConfig(full, machine()))).toEqual(plain(readEngineConfig({}, machine())));
  });
});
