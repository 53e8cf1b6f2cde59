import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config/env-reader.ts';
import { readWorkerConfig } from '../../../src/config/programs.ts';
import { machine, minimal, problemsOf } from './machine.ts';

const worker = (env: Env = {}) => readWorkerConfig({ ...minimal, ...env }, machine());
const URL = 'http://registry:8081';

describe('values and schemas', () => {
  it('are plain JSON unless told otherwise', () => {
    expect(worker().schemas).toBeUndefined();
  });

  it('check the subject that is named after the topic', () => {
    const { schemas } = worker({
      KAFKA_VALUE_FORMAT: 'Avro',
      KAFKA_SCHEMA_REGISTRY_URL: `${URL}, https://second:8081/base`,
      KAFKA_TOPIC: 'texts',
    });
    expect(schemas).toMatchObject({
      format: 'avro',
      urls: [URL, 'https://second:8081/base'],
      subject: 'texts-value',
      timeoutMs: 5_000,
      cacheSize: 1_000,
    });
  });

  it('check none where the subject is none', () => {
    const env = { KAFKA_VALUE_FORMAT: 'auto', KAFKA_SCHEMA_REGISTRY_URL: URL, KAFKA_SCHEMA_SUBJECT: 'none' };
    expect(worker(env).schemas?.subject).toBeUndefined();
  });

  it('warn of a password that travels unencrypted', () => {
    const { warnings } = worker({
      KAFKA_VALUE_FORMAT: 'avro',
      KAFKA_SCHEMA_REGISTRY_URL: URL,
      KAFKA_SCHEMA_REGISTRY_BEARER_TOKEN: 'zq-token',
    });
    expect(warnings.join()).toMatch(/travels unencrypted over http/);
    expect(warnings.join()).not.toContain('zq-token');
  });

  const wrong: { name: string; env: Env; says: RegExp }[] = [
    {
      name: 'a format without a registry',
      env: { KAFKA_VALUE_FORMAT: 'avro' },
      says: /^KAFKA_SCHEMA_REGISTRY_URL is unset while KAFKA_VALUE_FORMAT is avro/,
    },
    {
      name: 'a registry without a format',
      env: { KAFKA_SCHEMA_REGISTRY_URL: URL },
      says: /^KAFKA_SCHEMA_REGISTRY_URL is set while KAFKA_VALUE_FORMAT is json/,
    },
    {
      name: 'credentials in the address',
      env: { KAFKA_VALUE_FORMAT: 'avro', KAFKA_SCHEMA_REGISTRY_URL: 'http://u:zq@h:1' },
      says: /has credentials in entry 1/,
    },
    {
      name: 'an address without a scheme',
      env: { KAFKA_VALUE_FORMAT: 'avro', KAFKA_SCHEMA_REGISTRY_URL: `${URL},h:1` },
      says: /has an entry 2 that is no such URL/,
    },
    {
      name: 'a user without a password',
      env: { KAFKA_VALUE_FORMAT: 'avro', KAFKA_SCHEMA_REGISTRY_URL: URL, KAFKA_SCHEMA_REGISTRY_USERNAME: 'u' },
      says: /^KAFKA_SCHEMA_REGISTRY_PASSWORD is unset/,
    },
  ];
  for (const { name, env, says } of wrong) {
    it(`refuse ${name}`, () => {
      const problems = problemsOf(() => worker(env));
      expect(problems).toEqual([expect.stringMatching(says)]);
      expect(problems.join()).not.toContain('zq');
    });
  }
});
