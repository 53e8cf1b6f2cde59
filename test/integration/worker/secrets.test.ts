/** Secrets in every setting that takes one, with servers that are away or refuse them: nothing that we print holds any (M09). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Program } from '../../../scripts/stack/program.ts';
import { allSettings } from '../../../src/config/catalogue.ts';
import { useRedis } from '../../support/stack.ts';
import { type Env, endPrograms, eventually, startEngine, startWorker } from './harness.ts';

const SENTINEL = 'SENTINEL';
const PASSWORD = `pw-${SENTINEL}/1`;
const ENCODED = encodeURIComponent(PASSWORD);
const NOBODY = '127.0.0.1:1';
const redis = useRedis({ password: 'the-right-one' });

/** Every setting of which the catalogue says that it is secret, and a password in those URLs that may hold one. */
const secrets: Env = {
  ...Object.fromEntries(allSettings.filter(({ secret }) => secret).map(({ name }) => [name, PASSWORD])),
  RAG_SERVING_API_KEY: PASSWORD,
  KAFKA_SASL_USERNAME: 'somebody',
  KAFKA_SCHEMA_REGISTRY_USERNAME: 'somebody',
  // A registry is shown one of the two; the other in the case of a broker.
  KAFKA_SCHEMA_REGISTRY_BEARER_TOKEN: '',
  RAG_SERVING_SINK_MODULE_OPTIONS: JSON.stringify({ password: PASSWORD }),
  RAG_SERVING_TRITON_HTTP_URL: `http://u:${ENCODED}@${NOBODY}`,
  RAG_SERVING_TRITON_METRICS_URL: `http://u:${ENCODED}@${NOBODY}/metrics`,
  PROMETHEUS_SERVER_ADDRESS: `http://u:${ENCODED}@${NOBODY}`,
  AWS_ENDPOINT_URL: `http://u:${ENCODED}@${NOBODY}`,
  RAG_SERVING_LOG_LEVEL: 'DEBUG',
  RAG_SERVING_WORKER_ID: 'secrets',
  KAFKA_BOOTSTRAP_SERVERS: NOBODY,
};

let target = '';
beforeAll(async () => {
  expect(Object.keys(secrets).length).toBeGreaterThan(10);
  target = (await startEngine()).target;
});
afterAll(endPrograms);

type Case = {
  readonly name: string;
  env(): Env;
  /** The check that stays false and why; `exit` where the worker gives up. */
  readonly check: string;
  readonly says: RegExp;
  readonly exit?: number;
};

const cases: readonly Case[] = [
  {
    name: 'a model server',
    env: () => ({ RAG_SERVING_BATCH_INGEST_GRPC_URL: NOBODY }),
    check: 'model-server',
    says: /reached/,
  },
  {
    name: 'a Redis',
    env: () => ({ RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: `redis://u:${ENCODED}@${NOBODY}/0` }),
    check: 'store',
    says: /ECONNREFUSED/,
  },
  {
    name: 'a Redis that refuses the password',
    env: () => ({
      RAG_SERVING_SINK: 'redis',
      RAG_SERVING_REDIS_URL: `redis://default:${ENCODED}@127.0.0.1:${redis().port}`,
    }),
    check: 'store',
    says: /SINK_ACCESS_DENIED.*WRONGPASS/,
    exit: 1,
  },
  {
    name: 'an object store of LanceDB',
    env: () => ({ RAG_SERVING_SINK: 'lancedb', RAG_SERVING_LANCEDB_PATH: 's3://bucket/folder' }),
    check: 'store',
    says: /LanceDB/,
  },
  {
    name: 'a broker',
    env: () => ({
      RAG_SERVING_SINK: 'memory',
      KAFKA_SCHEMA_REGISTRY_USERNAME: '',
      KAFKA_SCHEMA_REGISTRY_PASSWORD: '',
      KAFKA_SCHEMA_REGISTRY_BEARER_TOKEN: PASSWORD,
    }),
    check: 'consumer',
    says: /KAFKA_UNAVAILABLE/,
  },
];

describe('no password shows in log, health, metrics or farewell of a worker without', () => {
  for (const { name, env, check, says, exit } of cases) {
    it(name, async () => {
      const worker = await startWorker({ ...secrets, RAG_SERVING_BATCH_INGEST_GRPC_URL: target, ...env() });
      let pages = '';
      if (exit === undefined) {
        await eventually('a reason', async () => {
          const { status, body } = await worker.ready();
          return status === 503 && says.test(body.checks.find((one) => one.name === check)?.reason ?? '');
        });
        for (const path of ['ready', 'healthz', 'metrics', 'no/such/page']) {
          for (const authorization of [`Bearer ${PASSWORD}`, `Bearer wrong-${PASSWORD}`, `Basic ${btoa(PASSWORD)}`]) {
            const page = await fetch(`http://127.0.0.1:${worker.port}/${path}`, { headers: { authorization } });
            pages += `${JSON.stringify([...page.headers])} ${await page.text()}`;
          }
        }
        expect(pages).toContain('rag_serving_');
        await worker.stop();
      }
      const { code } = await worker.program.exited;
      expect(code).toBe(exit ?? 0);
      if (exit !== undefined) expect(worker.program.output).toMatch(says);
      expect(linesWithSecret(`${worker.program.output}\n${pages}`)).toEqual([]);
    });
  }

  it('produce without a broker, and the engine', async () => {
    const produce = new Program(['produce', 'README.md'], secrets);
    expect(await produce.exited).toEqual({ code: 1, signal: null });
    const engine = new Program(
      ['engine', '--synthetic', '--grpc-port', '0', '--http-port', '0', '--metrics-port', '0'],
      secrets,
    );
    await engine.line(({ event }) => event === 'engine ready');
    await engine.stop();
    expect(linesWithSecret(`${produce.output}\n${engine.output}`)).toEqual([]);
    expect(produce.output).toMatch(/KAFKA_UNAVAILABLE/);
  });
});

function linesWithSecret(output: string): readonly string[] {
  const spellings = [SENTINEL, ENCODED, btoa(PASSWORD)];
  return output.split('\n').filter((line) => spellings.some((spelling) => line.includes(spelling)));
}
