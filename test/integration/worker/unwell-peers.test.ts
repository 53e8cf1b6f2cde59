/** Peers that are there and no use: one that accepts and says nothing, one whose certificate has expired. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type Server } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startProxy } from '../../../scripts/stack/proxy.ts';
import { useKafka } from '../../support/stack.ts';
import { chunksNamed } from './evidence.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';
import { readLetters } from './letters.ts';

const kafka = useKafka();
const ends: (() => unknown)[] = [];
let folder: string;
let topic: TestTopic;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rag-peers-'));
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(1);
});
afterEach(async () => {
  await endPrograms();
  for (const end of ends.splice(0)) await end();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

const workerAt = (target: string, more: Env = {}) =>
  startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'memory',
    RAG_SERVING_WORKER_ID: `peers-${process.pid}`,
    ...more,
  });

describe('a model server that accepts and never answers', () => {
  it('leaves the worker alive, not ready and free to stop; when it speaks, the worker begins (T17)', async () => {
    const engine = await startEngine();
    const proxy = await startProxy({ target: { port: engine.grpcPort } });
    ends.push(() => proxy.close());
    proxy.blackhole();
    const chunks = chunksNamed('t17', 20);
    await topic.send(chunks.map((chunk) => chunkMessage(chunk)));
    const first = await workerAt(proxy.address);
    await eventually('a reason', async () => {
      const { status, body } = await first.ready();
      const reason = body.checks.find(({ name }) => name === 'model-server')?.reason ?? '';
      return status === 503 && reason.includes('no answer in time');
    });
    expect(await first.page('healthz')).toContain('alive');
    expect(await first.stop('SIGTERM', 5_000)).toEqual({ code: 0, signal: null });

    const second = await workerAt(proxy.address);
    await sleep(1_000);
    await proxy.restore();
    await eventually(
      'stored',
      async () => (await second.metric('rag_serving_chunks_total', 'outcome="persisted"')) === 20,
      60_000,
    );
    expect(await second.stop()).toEqual({ code: 0, signal: null });
    expect(await readLetters(topic.client, `${topic.topic}.dlq`)).toEqual([]);
  });
});

/** A TLS server with a certificate of yesterday, and how often somebody came. */
async function startExpired(): Promise<{ readonly address: string; readonly ca: string; readonly came: () => number }> {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...fresh, '-keyout', at('ca.key'), '-out', at('ca.crt'), '-subj', '/CN=ca', '-days', '2');
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  openssl('req', ...fresh, '-keyout', at('server.key'), '-out', at('server.csr'), ...names);
  const signed = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '-1'];
  openssl('x509', '-req', '-in', at('server.csr'), ...signed, '-copy_extensions', 'copy', '-out', at('server.crt'));
  let came = 0;
  const server: Server = createServer({
    key: readFileSync(at('server.key')),
    cert: readFileSync(at('server.crt')),
    ALPNProtocols: ['h2'],
  });
  server.on('connection', () => came++);
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, ca: at('ca.crt'), came: () => came };
}

const WATCHED_MS = 15_000;

describe('a server whose certificate has expired (F05)', () => {
  const cases = [
    [
      'the model server',
      'model-server',
      (address: string, ca: string) => ({
        RAG_SERVING_BATCH_INGEST_GRPC_URL: address,
        RAG_SERVING_GRPC_TLS_ENABLED: 'true',
        RAG_SERVING_GRPC_CA_CERT_PATH: ca,
      }),
    ],
    [
      'the broker',
      'consumer',
      (address: string, ca: string) => ({
        KAFKA_BOOTSTRAP_SERVERS: address,
        KAFKA_TLS_ENABLED: 'true',
        KAFKA_CA_CERT_PATH: ca,
      }),
    ],
  ] as const;
  it.for(cases)('%s: alive, not ready with the reason, and less than one attempt a second', async ([, check, env]) => {
    const engine = await startEngine();
    const { address, ca, came } = await startExpired();
    const worker = await workerAt(engine.target, env(address, ca));
    await eventually(
      'the reason',
      async () => {
        const { status, body } = await worker.ready();
        const reason = body.checks.find(({ name }) => name === check)?.reason ?? '';
        return status === 503 && /certificate|TLS/i.test(reason);
      },
      40_000,
    );
    const before = came();
    await sleep(WATCHED_MS);
    expect(came() - before).toBeLessThan(WATCHED_MS / 1_000);
    expect(await worker.page('healthz')).toContain('alive');
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
  });
});
