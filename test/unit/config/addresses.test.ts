import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTlsMaterial, readTextFile } from '../../../src/config/file-types.ts';
import { readWorkerConfig } from '../../../src/config/programs.ts';
import { maskUrlCredentials } from '../../../src/config/url-masking.ts';
import { machine, minimal, problemsOf } from './machine.ts';
import { oneCert, oneKey, twoKey } from './pem.ts';

const problems = (env: Record<string, string>, more = {}) =>
  problemsOf(() => readWorkerConfig({ ...minimal, ...env }, machine(more)));

describe('the Redis URL (F03)', () => {
  const redis = (url: string) => ({ RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: url });
  const encoded = 'redis://default:p%40ss%3Aw%2Ford%231%2B%25@localhost:6379/1';

  it('takes an encoded password, white space around it trimmed', () => {
    const { sink } = readWorkerConfig({ ...minimal, ...redis(` ${encoded} \n`) }, machine());
    expect(sink.kind === 'redis' && sink.url.reveal()).toBe(encoded);
  });

  const raw = [
    'redis://default:p@ss:w/ord#1+%@localhost:6379/1',
    'redis://default:SENTINEL/x@localhost:6379/1',
    'redis://default:SENTINEL#x@localhost:6379/1',
    'redis://default:SENTINEL?x@localhost:6379/1',
    'redis://default:12#SENTINEL@localhost:6379/1',
    'redis://default:12/SENTINEL@localhost:6379/1',
    'redis://default:12?SENTINEL@localhost:6379/1',
    'redis://default:SENTINEL%zz@localhost:6379/1',
    'redis://default:SENTI NEL@localhost:6379/1',
  ];
  for (const url of raw) {
    it(`refuses ${url} by name, with a hint, without the password`, () => {
      const [problem, ...more] = problems(redis(url));
      expect(more).toEqual([]);
      expect(problem).toMatch(/^RAG_SERVING_REDIS_URL .*percent-encode/s);
      expect(problem).not.toMatch(/SENTI|p@ss|ord#1/);
    });
  }
  it('refuses credentials in the query, where + would become a space', () => {
    expect(problems(redis('redis://localhost:6379/0?password=a+b'))).toEqual([
      expect.stringContaining('put them before the host'),
    ]);
  });
  for (const url of ['localhost:6379', 'http://localhost:6379', 'redis://', 'redis://localhost:6379/db1']) {
    it(`refuses ${url}`, () => expect(problems(redis(url))).toHaveLength(1));
  }
});

describe('lists of hosts', () => {
  const cases: { value: string; says?: RegExp }[] = [
    { value: 'a:1' },
    { value: 'a:1,b-2.example.com:65535' },
    { value: '[::1]:9092, 10.0.0.1:9092' },
    { value: 'under_score:9092' },
    { value: '::1:9092', says: /entry 1 of 1 .*brackets/ },
    { value: 'a:1,', says: /entry 2 of 2 is empty/ },
    { value: 'a', says: /no port/ },
    { value: 'a:0', says: /outside 1–65535/ },
    { value: 'a:70000', says: /outside 1–65535/ },
    { value: 'kafka://a:1', says: /has a scheme/ },
    { value: 'u:SENTINEL@a:1', says: /"@"/ },
    { value: 'a b:1', says: /no valid host/ },
  ];
  for (const { value, says } of cases) {
    it(`${value} ${says === undefined ? 'is taken' : `is refused: ${says.source}`}`, () => {
      const found = problems({ KAFKA_BOOTSTRAP_SERVERS: value });
      expect(found).toEqual(says === undefined ? [] : [expect.stringMatching(says)]);
      expect(found.join()).not.toContain('SENTINEL');
    });
  }
  for (const value of [
    'dns:///pool-c.default.svc:8001',
    'unix:/run/triton.sock',
    'unix:///run/triton.sock',
    'a:1,b:2',
  ]) {
    it(`gRPC target ${value} is taken`, () =>
      expect(problems({ RAG_SERVING_BATCH_INGEST_GRPC_URL: value })).toEqual([]));
  }
  it('a gRPC target with http:// is refused', () => {
    expect(problems({ RAG_SERVING_TRITON_GRPC_URL: 'http://a:8001' })).toEqual([expect.stringMatching(/leave it out/)]);
  });
});

describe('TLS files (F05)', () => {
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'rag-tls-'));
    mkdirSync(join(dir, 'folder'));
    writeFileSync(join(dir, 'empty.pem'), '');
    writeFileSync(join(dir, 'prose.pem'), 'SENTINEL');
    writeFileSync(join(dir, 'cut.pem'), oneCert.replace(/\n.{40}/, '\n'));
    writeFileSync(join(dir, 'one.crt'), oneCert);
    writeFileSync(join(dir, 'one.key'), oneKey);
    writeFileSync(join(dir, 'two.key'), twoKey);
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  const kafka = (names: { ca?: string; cert?: string; key?: string }, nowMs = Date.UTC(2030, 0, 1)) => {
    const at = (name: string | undefined) => (name === undefined ? '' : join(dir, name));
    const env = {
      KAFKA_TLS_ENABLED: 'yes',
      KAFKA_CA_CERT_PATH: at(names.ca),
      KAFKA_CLIENT_CERT_PATH: at(names.cert),
      KAFKA_CLIENT_KEY_PATH: at(names.key),
    };
    return problems(env, { readFile: readTextFile, nowMs });
  };

  const faults: { name: string; files: Parameters<typeof kafka>[0]; says: RegExp }[] = [
    {
      name: 'missing',
      files: { ca: 'none.pem' },
      says: /^KAFKA_CA_CERT_PATH names a file that does not exist.*none\.pem/,
    },
    { name: 'empty', files: { ca: 'empty.pem' }, says: /^KAFKA_CA_CERT_PATH names an empty file/ },
    { name: 'a folder', files: { ca: 'folder' }, says: /^KAFKA_CA_CERT_PATH names a folder/ },
    { name: 'no PEM', files: { ca: 'prose.pem' }, says: /^KAFKA_CA_CERT_PATH names a file without a PEM certificate/ },
    { name: 'damaged', files: { ca: 'cut.pem' }, says: /^KAFKA_CA_CERT_PATH .*damaged/ },
    { name: 'a key as CA', files: { ca: 'one.key' }, says: /^KAFKA_CA_CERT_PATH .*without a PEM certificate/ },
    {
      name: 'the key of another certificate',
      files: { cert: 'one.crt', key: 'two.key' },
      says: /^KAFKA_CLIENT_KEY_PATH holds the key of another certificate.*two\.key/,
    },
    {
      name: 'a certificate as key',
      files: { cert: 'one.crt', key: 'one.crt' },
      says: /^KAFKA_CLIENT_KEY_PATH .*without a PEM private key/,
    },
  ];
  for (const { name, files, says } of faults) {
    it(`${name} is told at start with setting and path`, () => {
      expect(kafka(files)).toEqual([expect.stringMatching(says)]);
      expect(kafka(files).join()).not.toContain('SENTINEL');
    });
  }
  it('an expired certificate is told at start', () => {
    expect(kafka({ ca: 'one.crt' }, Date.UTC(2300, 0, 1))).toEqual([expect.stringMatching(/expired .*; renew it/)]);
  });
  it('a matching pair passes and is loaded', () => {
    expect(kafka({ ca: 'one.crt', cert: 'one.crt', key: 'one.key' })).toEqual([]);
    const paths = { caPath: join(dir, 'one.crt'), certPath: undefined, keyPath: join(dir, 'one.key') };
    expect(loadTlsMaterial(paths)).toEqual({ ca: oneCert, cert: undefined, key: oneKey });
  });
});

describe('maskUrlCredentials', () => {
  const cases: [string, string][] = [
    ['connect redis://u:SENTINEL@h:1/0 failed', 'connect redis://[redacted]@h:1/0 failed'],
    ['redis://u:SEN/TI#NEL@x@h:1', 'redis://[redacted]@h:1'],
    ['redis://SENTINEL@h', 'redis://[redacted]@h'],
    ['redis://u:SENTINEL', 'redis://u:[redacted]'],
    ['http://a/?api_key=SENTINEL&b=1', 'http://a/?api_key=[redacted]&b=1'],
    ['see http://localhost:8000/v2 and [::1]:80', 'see http://localhost:8000/v2 and [::1]:80'],
    ['dns:///pool:8001', 'dns:///pool:8001'],
    ['s3://bucket/key', 's3://bucket/key'],
    ['http://h:8080, next', 'http://h:8080, next'],
  ];
  for (const [given, masked] of cases) {
    it(given, () => expect(maskUrlCredentials(given)).toBe(masked));
  }
  it('stays fast on hostile text', () => {
    const began = performance.now();
    maskUrlCredentials('a://'.repeat(2_000));
    maskUrlCredentials(`a://${'x@'.repeat(4_000)}`);
    maskUrlCredentials('a://b:c'.repeat(1_100));
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
