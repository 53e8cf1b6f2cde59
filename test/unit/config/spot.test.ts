import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config/env-reader.ts';
import { readWorkerConfig } from '../../../src/config/programs.ts';
import { machine, minimal, problemsOf } from './machine.ts';

const spot = (env: Env) => readWorkerConfig({ ...minimal, ...env }, machine()).spot;

describe('eviction settings', () => {
  it('watch for nothing unless a provider is named', () => {
    expect(spot({ RAG_SERVING_SPOT_URL: 'http://127.0.0.1:1' })).toEqual({ provider: 'none' });
  });

  it.for([
    ['aws', 120_000],
    ['azure', 30_000],
    ['gcp', 15_000],
  ] as const)('%s: its own address and the time that its notice leaves', ([provider, noticeMs]) => {
    expect(spot({ RAG_SERVING_SPOT_PROVIDER: provider })).toEqual({
      provider,
      url: undefined,
      noticeMs,
      marginMs: 2_000,
      pollMs: 1_000,
      earlyWarning: 'ignore',
      acknowledge: false,
    });
    expect(spot({ RAG_SERVING_SPOT_PROVIDER: provider, RAG_SERVING_SPOT_NOTICE_MS: '7000' })).toMatchObject({
      noticeMs: 7_000,
    });
  });

  it('hooks set no end of their own', () => {
    const file = { RAG_SERVING_SPOT_PROVIDER: 'file', RAG_SERVING_SPOT_FILE: '/run/evict' };
    expect(spot(file)).toMatchObject({ provider: 'file', path: '/run/evict', noticeMs: undefined });
    const url = { RAG_SERVING_SPOT_PROVIDER: 'url', RAG_SERVING_SPOT_URL: 'https://hook.example/evict' };
    expect(spot(url)).toMatchObject({ provider: 'url', url: 'https://hook.example/evict', noticeMs: undefined });
  });

  it.for([
    ['file', /^RAG_SERVING_SPOT_FILE is unset while RAG_SERVING_SPOT_PROVIDER is file/],
    ['url', /^RAG_SERVING_SPOT_URL is unset while RAG_SERVING_SPOT_PROVIDER is url/],
  ] as const)('the hook %s without its place is a problem of its own', ([provider, says]) => {
    const problems = problemsOf(() => spot({ RAG_SERVING_SPOT_PROVIDER: provider }));
    expect(problems).toEqual([expect.stringMatching(says)]);
  });
});
