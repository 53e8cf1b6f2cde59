import { describe, expect, it } from 'vitest';
import { readOpsConfig, readWorkerConfig } from '../../../src/config/programs.ts';
import { machine, minimal, problemsOf } from './machine.ts';

const ops = (env: Readonly<Record<string, string>> = {}) => readOpsConfig(env, machine());

const GOLDEN = { RAG_SERVING_GOLDEN_FILE: '/models/golden.json' };

describe('readOpsConfig', () => {
  it('stands beside a Triton at its default addresses', () => {
    expect(ops()).toMatchObject({
      pool: 'online_embedding',
      inference: { tritonGrpcUrl: ['localhost:8001'] },
      readiness: {
        httpUrl: 'http://localhost:8000',
        metricsUrl: 'http://localhost:8002/metrics',
        models: ['online_embedder_ensemble'],
        intervalMs: 5_000,
        timeoutMs: 4_000,
      },
    });
  });

  it.each([
    ['online_embedding', 'online_embedder_ensemble'],
    ['online_reranker', 'online_reranker_ensemble'],
    ['batch_ingestion', 'batch_embedder_ensemble'],
  ])('of the pool %s needs %s', (pool, model) => {
    const config = ops({ RAG_SERVING_POOL_TYPE: pool });
    expect([config.pool, config.readiness.models]).toEqual([pool, [model]]);
  });

  it('takes the models that are named, each once', () => {
    const named = (models: string) => ops({ RAG_SERVING_READY_MODELS: models }).readiness.models;
    expect(named('a, b ,a')).toEqual(['a', 'b']);
    expect(ops({ RAG_SERVING_MODEL_NAME: 'mine' }).readiness.models).toEqual(['mine']);
  });

  it('takes a golden file for the model that is among those asked', () => {
    expect(ops().readiness.goldenFile).toBeUndefined();
    expect(ops({ RAG_SERVING_GOLDEN_FILE: '/models/golden.json' }).readiness.goldenFile).toBe('/models/golden.json');
    const env = { RAG_SERVING_GOLDEN_FILE: '/g', RAG_SERVING_READY_MODELS: 'a,online_embedder_ensemble' };
    expect(ops(env).readiness.models).toHaveLength(2);
  });

  it.each([
    [
      'a golden file of a model that is not asked',
      { ...GOLDEN, RAG_SERVING_READY_MODELS: 'a' },
      'RAG_SERVING_GOLDEN_FILE',
    ],
    ['a pool that does not exist', { RAG_SERVING_POOL_TYPE: 'gpu' }, 'RAG_SERVING_POOL_TYPE'],
    ['a model name with a slash', { RAG_SERVING_READY_MODELS: 'a,b/c' }, 'RAG_SERVING_READY_MODELS'],
    ['an empty model name', { RAG_SERVING_READY_MODELS: 'a,,b' }, 'RAG_SERVING_READY_MODELS'],
    ['a limit longer than the interval', { RAG_SERVING_READY_TIMEOUT_MS: '6000' }, 'RAG_SERVING_READY_TIMEOUT_MS'],
    [
      'a static limit above the capacity',
      { RAG_SERVING_MAX_STATIC_VRAM_BYTES: '25769803777' },
      'RAG_SERVING_MAX_STATIC',
    ],
    ['a blank API key (M07)', { RAG_SERVING_API_KEY: ' \n' }, 'RAG_SERVING_API_KEY'],
  ])('refuses %s', (_name, env, setting) => {
    const problems = problemsOf(() => ops(env));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(setting);
  });

  it('needs no Kafka', () => {
    expect(problemsOf(() => ops({}))).toEqual([]);
  });
});

describe('the worker', () => {
  it('asks Triton over HTTP, and for GPU memory, only where somebody said where it is', () => {
    expect(readWorkerConfig(minimal, machine()).readiness).toMatchObject({ httpUrl: undefined, metricsUrl: undefined });
    const env = {
      ...minimal,
      RAG_SERVING_TRITON_HTTP_URL: 'http://a:1',
      RAG_SERVING_TRITON_METRICS_URL: 'http://a:2/metrics',
    };
    expect(readWorkerConfig(env, machine()).readiness).toMatchObject({
      httpUrl: 'http://a:1',
      metricsUrl: 'http://a:2/metrics',
      models: ['batch_embedder_ensemble'],
    });
  });
});
