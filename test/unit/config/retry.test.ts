import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config/env-reader.ts';
import { readWorkerConfig } from '../../../src/config/programs.ts';
import { printableConfig, secretSpellings } from '../../../src/config/redact.ts';
import { machine, minimal, problemsOf } from './machine.ts';

const config = (env: Env = {}) => readWorkerConfig({ ...minimal, ...env }, machine());
const problems = (env: Env) => problemsOf(() => config(env));

describe('the retry section', () => {
  it('is not durable unless a Redis is named', () => {
    expect(config().retry).toEqual({ maxAttempts: 5, backoff: { baseMs: 5_000, maxMs: 600_000 }, durable: undefined });
  });

  it('takes the Redis of the sink over where that is set, whatever the sink', () => {
    const { durable } = config({ RAG_SERVING_REDIS_URL: 'redis://one:6379/1' }).retry;
    expect(durable?.url.reveal()).toBe('redis://one:6379/1');
    expect(durable).toMatchObject({ concurrency: 16, payload: 'message', keyPrefix: 'rag-retry', caPath: undefined });
  });

  it('prefers its own Redis', () => {
    const env = { RAG_SERVING_REDIS_URL: 'redis://one', RAG_SERVING_RETRY_REDIS_URL: 'redis://two' };
    expect(config(env).retry.durable?.url.reveal()).toBe('redis://two');
  });

  it('special characters of the password are percent-encoded; a raw form is refused without its text (F03)', () => {
    const encoded = 'redis://default:p%40ss%3Aw%2Ford%231%2B%25@localhost:6379/1';
    expect(config({ RAG_SERVING_RETRY_REDIS_URL: ` ${encoded}\n` }).retry.durable?.url.reveal()).toBe(encoded);
    const [problem] = problems({ RAG_SERVING_RETRY_REDIS_URL: 'redis://default:p@ss:w/ord#1+%@localhost:6379/1' });
    expect(problem).toMatch(/^RAG_SERVING_RETRY_REDIS_URL .*percent-encode/);
    expect(problem).not.toContain('w/ord');
  });

  it('its password is known to the logger and in no print', () => {
    const secret = config({ RAG_SERVING_RETRY_REDIS_URL: 'redis://u:pw-SENTINEL@localhost' });
    expect(JSON.stringify(printableConfig(secret))).not.toContain('SENTINEL');
    expect(secretSpellings(secret)).toContain('pw-SENTINEL');
  });

  const refused: { name: string; env: Env; says: RegExp }[] = [
    {
      name: 'a longest wait below the first',
      env: { RAG_SERVING_RETRY_BACKOFF_MS: '2000', RAG_SERVING_RETRY_MAX_BACKOFF_MS: '1000' },
      says: /^RAG_SERVING_RETRY_MAX_BACKOFF_MS \(1000\) is less than RAG_SERVING_RETRY_BACKOFF_MS \(2000\)/,
    },
    {
      name: 'a CA for a Redis without TLS',
      env: { RAG_SERVING_RETRY_REDIS_URL: 'redis://two', RAG_SERVING_RETRY_REDIS_CA_CERT_PATH: '/ca.pem' },
      says: /^RAG_SERVING_RETRY_REDIS_CA_CERT_PATH is set while/,
    },
    {
      name: 'a CA that is not there',
      env: { RAG_SERVING_RETRY_REDIS_URL: 'rediss://two', RAG_SERVING_RETRY_REDIS_CA_CERT_PATH: '/ca.pem' },
      says: /^RAG_SERVING_RETRY_REDIS_CA_CERT_PATH names a file/,
    },
    {
      name: 'no attempt at all',
      env: { RAG_SERVING_RETRY_MAX_ATTEMPTS: '0' },
      says: /^RAG_SERVING_RETRY_MAX_ATTEMPTS/,
    },
    { name: 'another payload', env: { RAG_SERVING_RETRY_PAYLOAD: 'text' }, says: /^RAG_SERVING_RETRY_PAYLOAD/ },
  ];
  for (const { name, env, says } of refused) {
    it(`refuses ${name}`, () => expect(problems(env)).toEqual([expect.stringMatching(says)]));
  }
});
