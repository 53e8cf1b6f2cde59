/** What the SDK makes of the standard variables, with a collector of this process. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { diag } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Log, silentLog } from '../../../src/telemetry/log.ts';
import { openOtlpTracing } from '../../../src/telemetry/otlp-tracing.ts';

let server: Server;
const bodies: { resourceSpans: { resource: { attributes: object[] }; scopeSpans: { spans: object[] }[] }[] }[] = [];

beforeEach(async () => {
  bodies.length = 0;
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      bodies.push(JSON.parse(body));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const limits = { linksOfSpan: 200, spansWaiting: undefined, spansOfExport: 2 };
const common = { protocol: 'http/json', service: 'a-service', instance: 'i-1', limits, log: silentLog } as const;

it('sends as JSON where that is asked for, so many spans at once, and is itself by the names it is given', async () => {
  const { tracer, close } = await openOtlpTracing(common);
  for (let n = 0; n < 5; n++) tracer.start({ name: `n${n}`, kind: 'internal' }).end();
  await close(AbortSignal.timeout(5_000));
  const sizes = bodies.map(({ resourceSpans }) => resourceSpans[0]!.scopeSpans[0]!.spans.length);
  expect(sizes.sort()).toEqual([1, 2, 2]);
  const { attributes } = bodies[0]!.resourceSpans[0]!.resource;
  expect(attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'a-service' } });
  expect(attributes).toContainEqual({ key: 'service.instance.id', value: { stringValue: 'i-1' } });
});

it('the environment names it otherwise', async () => {
  vi.stubEnv('OTEL_SERVICE_NAME', 'ingest');
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'service.instance.id=i-2,team=search');
  const { tracer, close } = await openOtlpTracing(common);
  tracer.start({ name: 'n', kind: 'internal' }).end();
  await close(AbortSignal.timeout(5_000));
  const { attributes } = bodies[0]!.resourceSpans[0]!.resource;
  for (const [key, stringValue] of [
    ['service.name', 'ingest'],
    ['service.instance.id', 'i-2'],
    ['team', 'search'],
  ]) {
    expect(attributes).toContainEqual({ key, value: { stringValue } });
  }
});

it('says what the SDK does not understand, and then no more', async () => {
  vi.stubEnv('OTEL_TRACES_SAMPLER', 'sometimes');
  const says: unknown[] = [];
  const log: Log = { ...silentLog, warn: (message, fields) => void says.push([message, fields]) };
  const { close } = await openOtlpTracing({ ...common, log });
  diag.error('later');
  await close(AbortSignal.timeout(5_000));
  expect(says).toHaveLength(1);
  expect(JSON.stringify(says)).toContain('OTEL_TRACES_SAMPLER');
});

it('closing ends when its time is over, and rejects for no collector', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:9');
  for (const signal of [AbortSignal.abort(), AbortSignal.timeout(50)]) {
    const { tracer, close } = await openOtlpTracing(common);
    tracer.start({ name: 'n', kind: 'internal' }).end();
    expect(await close(signal)).toBeUndefined();
  }
});
