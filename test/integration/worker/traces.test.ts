/** Traces of the whole worker: what a collector of the test's own gets, what the model server sees, and what all of it costs. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OutgoingMessage } from '../../../src/kafka/producer.ts';
import { CallProxy } from '../../support/call-proxy.ts';
import { useKafka, useRedis } from '../../support/stack.ts';
import { chunkMessage, type Env, endPrograms, eventually, startEngine, startWorker, TestTopic } from './harness.ts';
import { readLetters } from './letters.ts';
import { type Received, type ReceivedSpan, receiveGrpc, receiveHttp } from './otlp-receiver.ts';

const SENTINEL = 'ZEBRA-9051';
const SECRET = 'key-0123456789abcdef';
const INFER = 'inference.GRPCInferenceService/ModelInfer';

const kafka = useKafka();
const redis = useRedis();
let topic: TestTopic;
let folder: string;
const open: (() => unknown)[] = [];

beforeEach(async () => {
  topic = new TestTopic(kafka().bootstrapServers);
  await topic.create(2);
  folder = mkdtempSync(join(tmpdir(), 'rag-traces-'));
});
afterEach(async () => {
  await endPrograms();
  for (const end of open.splice(0).reverse()) await end();
  await topic.close();
  rmSync(folder, { recursive: true, force: true });
});

const traceIdOf = (n: number) => (n + 1).toString(16).padStart(32, '0');
const parentIdOf = (n: number) => (n + 1).toString(16).padStart(16, 'a');

function traced(n: number, text = `text ${n} ${SENTINEL}`): OutgoingMessage {
  const message = chunkMessage({ chunkId: `${SENTINEL}#${n}`, documentId: `doc-${n % 20}`, text });
  return {
    ...message,
    headers: [
      ['traceparent', Buffer.from(`00-${traceIdOf(n)}-${parentIdOf(n)}-01`)],
      ['tracestate', Buffer.from('vendor=x')],
    ],
  };
}

/** The engine behind a proxy that tells which trace each inference came with. */
async function listeningEngine(args: readonly string[] = []) {
  const engine = await startEngine(['--synthetic', ...args]);
  const proxy = await CallProxy.start(engine.target);
  open.push(() => proxy.close());
  const traceparents: unknown[] = [];
  proxy.onCall = (headers) => {
    if (headers[':path'] === `/${INFER}`) traceparents.push(headers.traceparent);
  };
  return { target: proxy.address, traceparents };
}

const workerAt = (target: string, more: Env) =>
  startWorker({
    ...topic.env(kafka().bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'memory',
    RAG_SERVING_WORKER_ID: 'traces-test',
    RAG_SERVING_LOG_LEVEL: 'DEBUG',
    ...more,
  });

async function collector(receive: () => Promise<Received>): Promise<Received> {
  const received = await receive();
  open.push(() => received.close());
  return received;
}

const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name === name);

describe.each([
  ['http/protobuf', receiveHttp],
  ['grpc', receiveGrpc],
] as const)('over %s', (protocol, receive) => {
  it('every message is linked by the batch it was in, with the calls, the writes, the dead letter and the commit under it', async () => {
    const received = await collector(receive);
    const { target, traceparents } = await listeningEngine(['--fault', 'POISON=invalid-argument']);
    const messages = Array.from({ length: 400 }, (_, n) => traced(n, n === 7 ? `POISON ${SENTINEL}` : undefined));
    await topic.send(messages);
    const worker = await workerAt(target, {
      OTEL_EXPORTER_OTLP_ENDPOINT: received.endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: `api-key=${SECRET}`,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '200',
    });
    await topic.untilLagZero();
    await eventually('a commit is traced', () => named(received.spans, `commit ${topic.topic}`).length > 0);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });

    const { spans } = received;
    const batches = named(spans, `process ${topic.topic}`);
    const links = batches.flatMap((batch) => batch.links);
    expect(links.map(({ traceId, spanId }) => `${traceId} ${spanId}`).sort()).toEqual(
      messages.map((_, n) => `${traceIdOf(n)} ${parentIdOf(n)}`).sort(),
    );
    expect(links.every(({ traceState }) => traceState === 'vendor=x')).toBe(true);
    // More than the SDK would keep by itself.
    expect(Math.max(...batches.map((batch) => batch.links.length))).toBeGreaterThan(128);
    expect(
      batches.every(({ droppedLinks, parentSpanId, kind }) => droppedLinks === 0 && parentSpanId === '' && kind === 5),
    ).toBe(true);
    expect(batches[0]!.attributes).toMatchObject({
      'messaging.system': 'kafka',
      'messaging.destination.name': topic.topic,
      'messaging.consumer.group.name': topic.group,
      'messaging.operation.name': 'process',
      'messaging.batch.message_count': batches[0]!.links.length,
      'messaging.client.id': 'traces-test',
    });
    expect(batches[0]!.resource).toMatchObject({
      'service.name': 'rag-serving-worker',
      'service.instance.id': 'traces-test',
      'deployment.environment.name': 'test',
    });
    const persisted = batches.reduce(
      (sum, { attributes }) => sum + Number(attributes['rag_serving.chunks.persisted'] ?? 0),
      0,
    );
    expect(persisted).toBe(399);
    const failed = batches.filter(({ status }) => status !== '');
    expect(failed).toMatchObject([
      { status: 'INFERENCE_REJECTED', attributes: { 'rag_serving.chunks.dead_lettered': 1 } },
    ]);

    const idOf = ({ traceId, spanId }: ReceivedSpan) => `${traceId} ${spanId}`;
    const parents = new Set(batches.map(idOf));
    const under = (name: string) => {
      const found = named(spans, name);
      expect(found.length, name).toBeGreaterThan(0);
      for (const { traceId, parentSpanId } of found) expect(parents, name).toContain(`${traceId} ${parentSpanId}`);
      return found;
    };
    const calls = under(INFER);
    // What the worker asks on its own account belongs to no batch.
    const seen = traceparents.filter((traceparent) => traceparent !== undefined);
    expect([...seen].sort()).toEqual(calls.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`).sort());
    expect(
      calls.filter(({ status }) => status === '').every(({ attributes }) => attributes['rpc.status_code'] === 'OK'),
    ).toBe(true);
    expect(under('upsert memory')[0]!.attributes).toMatchObject({
      'db.system.name': 'memory',
      'db.operation.name': 'upsert',
    });
    expect(under(`commit ${topic.topic}`)[0]).toMatchObject({
      kind: 3,
      attributes: { 'messaging.operation.type': 'settle' },
    });
    expect(under(`send ${topic.topic}.dlq`)).toHaveLength(1);
    const [letter] = await readLetters(topic.client, `${topic.topic}.dlq`);
    expect(String(letter!.headers.traceparent)).toBe(`00-${traceIdOf(7)}-${parentIdOf(7)}-01`);

    expect(received.headers.every((headers) => headers['api-key'] === SECRET)).toBe(true);
    expect(Buffer.concat(received.bodies).includes(SENTINEL)).toBe(false);
    expect(worker.program.output).not.toContain(SECRET);
  });
});

it.each(['message', 'origin'])(
  'a retry that keeps the %s links its message again, and so does its dead letter',
  async (payload) => {
    const received = await collector(receiveHttp);
    const { target } = await listeningEngine(['--fault', 'POISON=invalid-argument']);
    await topic.send([traced(7, `POISON ${SENTINEL}`)]);
    const worker = await workerAt(target, {
      RAG_SERVING_SINK: 'redis',
      RAG_SERVING_REDIS_URL: redis().url,
      RAG_SERVING_REDIS_KEY_PREFIX: `${topic.topic}:`,
      RAG_SERVING_RETRY_KEY_PREFIX: `${topic.topic}:`,
      RAG_SERVING_RETRY_PAYLOAD: payload,
      RAG_SERVING_RETRY_BACKOFF_MS: '200',
      RAG_SERVING_RETRY_MAX_ATTEMPTS: '2',
      OTEL_EXPORTER_OTLP_ENDPOINT: received.endpoint,
    });
    const letters = () => readLetters(topic.client, `${topic.topic}.dlq`);
    await eventually('a dead letter', async () => (await letters()).length === 1, 60_000, 500);
    await topic.send([traced(8)]);
    await eventually(
      'stored',
      async () => (await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')) === 1,
    );
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    const batches = named(received.spans, `process ${topic.topic}`);
    expect(
      batches.map(({ attributes, links }) => [
        attributes['rag_serving.batch.closed_by'],
        links.map(({ traceId }) => traceId),
        Number(attributes['rag_serving.chunks.handed_over'] ?? 0),
        Number(attributes['rag_serving.chunks.dead_lettered'] ?? 0),
      ]),
    ).toEqual([
      ['wait', [traceIdOf(7)], 1, 0],
      ['retry', [traceIdOf(7)], 0, 1],
      ['wait', [traceIdOf(8)], 0, 0],
    ]);
    expect(named(received.spans, 'send retry')[0]!.parentSpanId).toBe(batches[0]!.spanId);
    expect(named(received.spans, `send ${topic.topic}.dlq`)[0]!.parentSpanId).toBe(batches[1]!.spanId);
    expect(named(received.spans, 'upsert redis')[0]!.parentSpanId).toBe(batches[2]!.spanId);
    const [letter] = await letters();
    expect(String(letter!.headers.traceparent)).toBe(`00-${traceIdOf(7)}-${parentIdOf(7)}-01`);
    expect(String(letter!.headers.tracestate)).toBe('vendor=x');
    expect(Buffer.concat(received.bodies).includes(SENTINEL)).toBe(false);
  },
);

describe('costs nothing', () => {
  it('when every batch is sampled out: nothing is sent, and the model server learns that it is', async () => {
    const received = await collector(receiveHttp);
    const { target, traceparents } = await listeningEngine();
    await topic.send([traced(1), traced(2)]);
    const worker = await workerAt(target, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${received.endpoint}/v1/traces`,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    });
    await topic.untilLagZero();
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    expect(received.bodies).toEqual([]);
    const ofBatches = traceparents.filter((traceparent) => traceparent !== undefined);
    expect(ofBatches.length).toBeGreaterThan(0);
    for (const traceparent of ofBatches) expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  it.each<[string, Env, boolean]>([
    ['without an endpoint', {}, false],
    ['switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }, false],
    [
      'always sampled out',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER: 'always_off' },
      false,
    ],
    ['with one', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, true],
  ])('%s: whether an SDK is loaded', async (_, env, loads) => {
    const { target, traceparents } = await listeningEngine();
    const list = join(folder, 'loaded.json');
    const preload = join(folder, 'preload.cjs');
    writeFileSync(
      preload,
      `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache))));`,
    );
    await topic.send([traced(1)]);
    const worker = await workerAt(target, { ...env, NODE_OPTIONS: `--require ${preload}` });
    await topic.untilLagZero();
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    const loaded = JSON.parse(readFileSync(list, 'utf8')) as string[];
    const sdk = loaded.filter((path) => /@opentelemetry\/(?!api\/)/.test(path));
    expect(sdk.length > 0).toBe(loads);
    expect(traceparents.some((traceparent) => traceparent !== undefined)).toBe(loads);
    // The packages are seen at all: the metrics bring the API.
    expect(loaded.some((path) => path.includes('prom-client'))).toBe(true);
  });
});

describe('a collector that', () => {
  async function silentCollector(): Promise<string> {
    const server: Server = createServer((socket) => void socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => server.close());
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  it.each<[string, () => Promise<string>]>([
    ['is not there', async () => 'http://127.0.0.1:9'],
    ['takes the connection and never answers', silentCollector],
  ])('%s holds nothing up, is told of once, and lets the worker end', async (_, endpointOf) => {
    const { target } = await listeningEngine();
    await topic.send(Array.from({ length: 3_000 }, (_, n) => traced(n)));
    const worker = await workerAt(target, {
      OTEL_EXPORTER_OTLP_ENDPOINT: await endpointOf(),
      OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    });
    await topic.untilLagZero();
    expect(await worker.metric('rag_serving_chunks_total', 'outcome="persisted"')).toBe(3_000);
    await worker.program.line(({ msg }) => msg === 'traces: the collector does not take spans');
    expect((await worker.ready()).status).toBe(200);
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    const told = worker.log.filter(({ msg }) => String(msg).startsWith('traces:'));
    expect(told).toHaveLength(1);
    const step = worker.log.find(({ step }) => step === 'send the last traces');
    expect(Number(step?.tookMs)).toBeLessThanOrEqual(2_500);
    expect(worker.log.find(({ msg }) => msg === 'drained')).toMatchObject({ abandoned: 0, complete: true });
  });
});
