/** The real program with wrong settings: it says all of them at once, none of their values, and ends with code 2. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { killAllPrograms, Program } from '../../../scripts/stack/program.ts';
import { allSettings } from '../../../src/config/catalogue.ts';
import { readWorkerConfig } from '../../../src/config/programs.ts';
import { isServingError } from '../../../src/errors.ts';
import { commands } from '../../../workers/command-line.ts';
import { oneCert, oneKey, twoKey } from '../../unit/config/pem.ts';
import type { Env } from './harness.ts';

const SENTINEL = 'pw-SENTINEL';

afterEach(killAllPrograms);

async function run(args: readonly string[], env: Env = {}) {
  const program = new Program(args, env);
  const { code } = await program.exited;
  return { code, output: program.output };
}

async function problemsOf(env: Env): Promise<{ readonly output: string; readonly told: readonly string[] }> {
  const { code, output } = await run(['worker'], env);
  expect([code, output]).toEqual([2, expect.stringContaining('CONFIG_INVALID')]);
  expect(output).not.toContain('SENTINEL');
  expect(output).not.toMatch(/^\s+at /m);
  const told = output.split('\n').flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []));
  return { output, told };
}

describe('--help', () => {
  for (const args of [['--help'], ['help'], ...commands.map(({ name }) => [name, '--help'])]) {
    it(`rag-serving ${args.join(' ')} ends with code 0, whatever is set`, async () => {
      const { code, output } = await run(args, { KAFKA_TLS_ENABLED: 'tru', RAG_SERVING_LOG_LEVEL: 'loud' });
      expect([code, output]).toEqual([0, expect.stringContaining('Usage: rag-serving')]);
      expect(output).toContain('Exit codes');
    });
  }
});

describe('the worker with wrong settings', () => {
  it('tells every boolean, number and choice that holds a misplaced secret, and no part of it (F01)', async () => {
    const strict = allSettings.filter(({ parse }) => !parse(SENTINEL).ok);
    const env = Object.fromEntries(strict.map(({ name }) => [name, SENTINEL]));
    let expected: readonly string[] = [];
    try {
      readWorkerConfig(env);
    } catch (error) {
      if (isServingError(error)) expected = error.details.problems as string[];
    }
    const { told } = await problemsOf(env);
    expect(told).toEqual(expected);
    expect(told.length).toBeGreaterThan(30);
  });

  for (const value of ['2', 'tru', '-1', '1e0']) {
    it(`a boolean of ${value} is refused by name (F01)`, async () => {
      const { told } = await problemsOf({ KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1', RAG_SERVING_STORE_TEXT: value });
      expect(told).toEqual([expect.stringMatching(/^RAG_SERVING_STORE_TEXT got .* set true or false/)]);
    });
  }

  it('a password that is not percent-encoded is told with the remedy, beside everything else (F03)', async () => {
    const { told } = await problemsOf({
      RAG_SERVING_SINK: 'redis',
      RAG_SERVING_REDIS_URL: `redis://default:p@ss:w/ord#1+%${SENTINEL}@localhost:6379/1`,
      RAG_SERVING_POOL_TYPE: 'online_reranker',
      RAG_SERVING_DRAIN_TIMEOUT_MS: '60000',
      KAFKA_SASL_USERNAME: 'only-a-user',
    });
    const names = told.map((line) => line.split(' ')[0]).toSorted();
    expect(names).toEqual([
      'KAFKA_BOOTSTRAP_SERVERS',
      'KAFKA_SASL_PASSWORD',
      'RAG_SERVING_DRAIN_TIMEOUT_MS',
      'RAG_SERVING_POOL_TYPE',
      'RAG_SERVING_REDIS_URL',
    ]);
    expect(told.find((line) => line.startsWith('RAG_SERVING_REDIS_URL'))).toMatch(/percent-encode.*%40/);
    expect(told.join()).not.toMatch(/ord#1|p@ss/);
  });

  it('a secret of blanks is refused', async () => {
    const { told } = await problemsOf({ KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1', RAG_SERVING_API_KEY: '  \n' });
    expect(told).toEqual([expect.stringMatching(/^RAG_SERVING_API_KEY holds only white space/)]);
  });
});

describe('TLS files that cannot work (F05)', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'rag-settings-'));
    mkdirSync(join(folder, 'folder'));
    const files = { empty: '', prose: SENTINEL, cert: oneCert, key: oneKey, other: twoKey };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.pem`), text);
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, name);

  it('of broker, model server and store are told together, by setting and path', async () => {
    const { told, output } = await problemsOf({
      KAFKA_BOOTSTRAP_SERVERS: '127.0.0.1:1',
      KAFKA_TLS_ENABLED: 'true',
      KAFKA_CA_CERT_PATH: at('none.pem'),
      KAFKA_CLIENT_CERT_PATH: at('cert.pem'),
      KAFKA_CLIENT_KEY_PATH: at('other.pem'),
      RAG_SERVING_GRPC_TLS_ENABLED: 'yes',
      RAG_SERVING_GRPC_CA_CERT_PATH: at('empty.pem'),
      RAG_SERVING_GRPC_CLIENT_CERT_PATH: at('prose.pem'),
      RAG_SERVING_GRPC_CLIENT_KEY_PATH: at('key.pem'),
      RAG_SERVING_SINK: 'redis',
      RAG_SERVING_REDIS_URL: `rediss://u:${SENTINEL}@localhost:6379`,
      RAG_SERVING_REDIS_CA_CERT_PATH: at('folder'),
    });
    const says = {
      KAFKA_CA_CERT_PATH: ['does not exist', 'none.pem'],
      KAFKA_CLIENT_KEY_PATH: ['key of another certificate', 'other.pem'],
      RAG_SERVING_GRPC_CA_CERT_PATH: ['empty file', 'empty.pem'],
      RAG_SERVING_GRPC_CLIENT_CERT_PATH: ['without a PEM certificate', 'prose.pem'],
      RAG_SERVING_REDIS_CA_CERT_PATH: ['names a folder', 'folder'],
    };
    expect(told).toHaveLength(Object.keys(says).length);
    for (const [name, words] of Object.entries(says)) {
      const line = told.find((one) => one.startsWith(`${name} `));
      for (const word of words) expect(line).toContain(word);
    }
    expect(output).not.toContain('PRIVATE KEY-----');
  });
});
