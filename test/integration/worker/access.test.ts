/** Brokers that refuse us: wrong password, no rights, a certificate of nobody. Never a worker that lives and does nothing. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type RunningKafka, startKafka } from '../../../scripts/stack/kafka.ts';
import { allow, type Right } from '../../support/kafka-rights.ts';
import { oneCert } from '../../unit/config/pem.ts';
import {
  chunkMessage,
  type EngineProcess,
  type Env,
  endPrograms,
  eventually,
  startEngine,
  startWorker,
  TestTopic,
} from './harness.ts';

const sasl = { username: 'worker', password: 'pw-SENTINEL-right' };
const ACCESS_DENIED = /KAFKA_ACCESS_DENIED/;

let folder: string;
let kafka: RunningKafka;
let engine: EngineProcess;
let topic: TestTopic;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-access-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...request, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  writeFileSync(join(folder, 'other.pem'), oneCert);
  kafka = await startKafka({
    sasl,
    tls: { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') },
    settings: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // The plain listener, which only the test uses; whoever comes in by the secured one has what it is given.
      'super.users': 'User:ANONYMOUS',
    },
  });
  topic = new TestTopic(kafka.bootstrapServers);
  await topic.create(1);
}, 600_000);
afterEach(endPrograms);
afterAll(async () => {
  await topic?.close();
  await kafka?.stop();
  rmSync(folder, { recursive: true });
});

async function envOf(changes: Env = {}): Promise<Env> {
  engine = await startEngine();
  return {
    ...topic.env(kafka.securedServers),
    KAFKA_TLS_ENABLED: 'true',
    KAFKA_CA_CERT_PATH: join(folder, 'cert.pem'),
    KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
    KAFKA_SASL_USERNAME: sasl.username,
    KAFKA_SASL_PASSWORD: sasl.password,
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
    RAG_SERVING_SINK: 'memory',
    RAG_SERVING_WORKER_ID: 'access',
    RAG_SERVING_LOG_LEVEL: 'DEBUG',
    ...changes,
  };
}

const allowed = (...rights: readonly Right[]) => allow(topic.client, sasl.username, 'LITERAL', rights);

/** Runs a worker that must give up by itself. */
async function refused(env: Env): Promise<string> {
  const { program } = await startWorker(env);
  expect(await program.exited).toEqual({ code: 1, signal: null });
  expect(program.output).not.toContain('SENTINEL');
  const errors = program.lines.filter(({ msg }) => msg === 'the worker cannot go on');
  expect(errors).toHaveLength(1);
  return JSON.stringify(errors[0]);
}

describe('a broker that refuses us ends the worker with one error that says why (K08)', () => {
  for (const mechanism of ['PLAIN', 'SCRAM-SHA-256']) {
    it(`a wrong password by ${mechanism}, which shows nowhere (M09)`, async () => {
      const told = await refused(
        await envOf({ KAFKA_SASL_PASSWORD: 'pw-SENTINEL-wrong', KAFKA_SASL_MECHANISM: mechanism }),
      );
      expect(told).toMatch(ACCESS_DENIED);
    });
  }

  it('no right to the topic, then none to the group', async () => {
    const first = await refused(await envOf());
    expect(first).toMatch(ACCESS_DENIED);
    expect(first).toContain(topic.topic);
    await allowed({ on: 'TOPIC', name: topic.topic, to: 'READ' });
    const second = await refused(await envOf());
    expect(second).toMatch(/KAFKA_ACCESS_DENIED.*GROUP_AUTHORIZATION_FAILED/);
    expect(second).toContain(topic.group);
  });

  it('no right to the dead-letter topic: the bad chunk is not committed, and with the right it is buried', async () => {
    await allowed({ on: 'TOPIC', name: topic.topic, to: 'READ' }, { on: 'GROUP', name: topic.group, to: 'READ' });
    await topic.send([
      chunkMessage({ chunkId: 'good', documentId: 'd', text: 'good' }),
      { key: 'd', value: 'bad' },
      chunkMessage({ chunkId: 'good too', documentId: 'd', text: 'good too' }),
    ]);
    const letters = `${topic.topic}.letters`;
    await topic.admin.ensureTopic(letters, { partitions: 1 });
    const env = await envOf({ RAG_SERVING_DEAD_LETTER_TOPIC: letters });
    const told = await refused(env);
    expect(told).toMatch(ACCESS_DENIED);
    expect(told).toContain(letters);
    expect(await topic.lag()).toBeGreaterThanOrEqual(2);
    await allowed({ on: 'TOPIC', name: letters, to: 'WRITE' });
    const worker = await startWorker(env);
    await topic.untilLagZero();
    expect(await worker.metric('rag_serving_dead_letters_total')).toBeGreaterThan(0);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(worker.program.output).not.toContain('SENTINEL');
  });
});

describe('a broker whose certificate nobody vouches for', () => {
  it('leaves the worker alive and not ready, with the TLS reason (F05)', async () => {
    const worker = await startWorker(await envOf({ KAFKA_CA_CERT_PATH: join(folder, 'other.pem') }));
    const reason = async () => {
      const { status, body } = await worker.ready();
      return status === 503 ? (body.checks.find(({ name }) => name === 'consumer')?.reason ?? '') : '';
    };
    await eventually('a reason', async () => /certificate/i.test(await reason()), 40_000, 250);
    expect((await fetch(`http://127.0.0.1:${worker.port}/healthz`)).status).toBe(200);
    expect(await worker.stop()).toMatchObject({ code: 0 });
    expect(worker.program.output).not.toContain('SENTINEL');
  });
});
