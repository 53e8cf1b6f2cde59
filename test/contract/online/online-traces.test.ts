/**
 * The spans of the online module in the tracing of its host: a real SDK with an exporter that keeps what it gets. What the
 * model server sees of the trace is asked of a fake one, for the engine tells nobody.
 */
import { type Span as ApiSpan, context, createTraceState, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createOnline, type Online } from '../../../online/index.ts';
import { attributeNames } from '../../../src/telemetry/span-attributes.ts';
import { CallProxy } from '../../support/call-proxy.ts';
import { type Handlers, startFakeServer } from '../../unit/inference/fake-server.ts';
import { type RunningEngine, runEngine } from '../engine/engine-fixture.ts';
import { candidatesOf, optionsFor, patient } from '../online-contract.ts';

const SENTINEL = 'ZEBRA-4410';
const GIVEN = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const candidates = candidatesOf([`one ${SENTINEL}`, `two ${SENTINEL}`]);
const kept = new InMemorySpanExporter();
const faults = [
  { marker: 'BAD', kind: 'invalid-argument' },
  { marker: 'NAN', kind: 'nan' },
] as const;

let engine: RunningEngine;
let online: Online;
const open: (() => unknown)[] = [];

beforeAll(async () => {
  engine = await runEngine({ synthetic: { faults } });
  online = await createOnline(optionsFor(`127.0.0.1:${engine.engine.ports.grpcPort}`, 'stream'));
});
afterAll(async () => {
  await online.close();
  await engine.stop();
});
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
  for (const api of [trace, context]) api.disable();
  kept.reset();
});

function traced(sampler?: Sampler): void {
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(kept)],
    ...(sampler === undefined ? {} : { sampler }),
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
}

const named = (name: string) => kept.getFinishedSpans().filter((span) => span.name === name);
const one = (name: string): ReadableSpan => {
  const found = named(name);
  expect(found, name).toHaveLength(1);
  return found[0]!;
};
const STREAM = 'inference.GRPCInferenceService/ModelStreamInfer';
const idOf = (span: ReadableSpan) => span.spanContext().spanId;
const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId;

/** The host's own span around a call. */
async function inHostSpan<T>(call: (span: ApiSpan) => Promise<T>): Promise<T> {
  return trace.getTracer('host').startActiveSpan('request', async (span) => {
    try {
      return await call(span);
    } finally {
      span.end();
    }
  });
}

describe('with an SDK', () => {
  it('a search is a tree under the span of the host: embed, its own retrieval, rerank, and the calls of both', async () => {
    traced();
    await inHostSpan(() =>
      online.search(
        `query ${SENTINEL}`,
        async () => {
          trace.getTracer('host').startSpan('store').end();
          return candidates;
        },
        patient,
      ),
    );
    const [request, search, embed, store, rerank] = ['request', 'search', 'embed', 'store', 'rerank'].map(one);
    expect(parentOf(search!)).toBe(idOf(request!));
    for (const step of [embed!, store!, rerank!]) expect(parentOf(step)).toBe(idOf(search!));
    const calls = named(STREAM);
    expect(calls.map(parentOf)).toEqual([idOf(embed!), idOf(rerank!)]);
    expect(new Set(kept.getFinishedSpans().map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(embed!.attributes).toEqual({
      'rag_serving.pool': 'embed',
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.request.model': 'online_embedder_ensemble',
      'rag_serving.rows': 1,
    });
    expect(rerank!.attributes).toEqual({
      'rag_serving.pool': 'rerank',
      'gen_ai.request.model': 'online_reranker_ensemble',
      'rag_serving.rows': 2,
      'rag_serving.source': 'cross-encoder',
    });
    expect(search!.attributes).toEqual({ 'rag_serving.source': 'cross-encoder' });
    expect(calls[1]).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        'rpc.system.name': 'grpc',
        'rpc.method': STREAM,
        'gen_ai.request.model': 'online_reranker_ensemble',
        'rag_serving.rows': 2,
        'rpc.status_code': 'OK',
      },
    });
  });

  it('a call in several requests has a client span each', async () => {
    traced();
    await online.embed(
      Array.from({ length: 65 }, (_, i) => `${i}`),
      patient,
    );
    expect(one('embed').attributes['rag_serving.rows']).toBe(65);
    // Two ways to send, so no order of theirs.
    expect(
      named(STREAM)
        .map(({ attributes }) => attributes['rag_serving.rows'])
        .sort(),
    ).toEqual([1, 32, 32]);
  });

  it('queries that travel in one request: it hangs under one of them and links the others', async () => {
    traced();
    // With one deadline: those of calls that begin apart may lie too far apart.
    const deadline = performance.now() + patient.timeoutMs;
    await Promise.all(['a', 'b', 'c'].map((text) => online.embed(text, { deadline })));
    const call = one(STREAM);
    expect(call.attributes['rag_serving.rows']).toBe(3);
    const spans = named('embed').map(idOf);
    expect([parentOf(call), ...call.links.map((link) => link.context.spanId)].sort()).toEqual(spans.sort());
  });

  it('a failure is its code and nothing else; a degraded rerank has a reason and is no failure', async () => {
    traced();
    await expect(online.embed(`NAN ${SENTINEL}`, patient)).rejects.toMatchObject({ code: 'VECTOR_NOT_FINITE' });
    await expect(online.embed(` `, patient)).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
    expect((await online.rerank(`BAD ${SENTINEL}`, candidates, patient)).degraded).toBe('error');
    expect((await online.rerank('q', candidates, { timeoutMs: 1 })).degraded).toBe('deadline-near');
    await expect(online.search('q', () => Promise.reject(new Error(SENTINEL)), patient)).rejects.toThrow(SENTINEL);
    const ends = kept.getFinishedSpans().map(({ name, status, attributes }) => {
      const { 'error.type': code, 'rag_serving.degraded': degraded } = attributes;
      return [name, status.code === SpanStatusCode.ERROR, status.message ?? code, degraded];
    });
    expect(ends).toEqual([
      [STREAM, false, undefined, undefined],
      ['embed', true, 'VECTOR_NOT_FINITE', undefined],
      ['embed', true, 'ARGUMENT_INVALID', undefined],
      [STREAM, true, 'INFERENCE_FAILED', undefined],
      ['rerank', false, undefined, 'error'],
      ['rerank', false, undefined, 'deadline-near'],
      [STREAM, false, undefined, undefined],
      ['embed', false, undefined, undefined],
      ['search', true, 'INTERNAL', undefined],
    ]);
    const spans = kept.getFinishedSpans();
    for (const { attributes } of spans) {
      expect(attributeNames).toEqual(expect.arrayContaining(Object.keys(attributes)));
    }
    const everything = spans.map(({ name, attributes, status, events, links }) => [
      name,
      attributes,
      status,
      events,
      links,
    ]);
    expect(JSON.stringify(everything)).not.toContain(SENTINEL);
  });

  it('a trace context that the caller gives is the parent where none is active', async () => {
    traced();
    await online.embed('q', { ...patient, traceparent: GIVEN });
    expect(one('embed').parentSpanContext).toMatchObject({ spanId: '00f067aa0ba902b7', isRemote: true });
    kept.reset();
    await inHostSpan(() => online.embed('q', { ...patient, traceparent: GIVEN }));
    expect(parentOf(one('embed'))).toBe(idOf(one('request')));
  });

  it('registered after the client was made counts from then on, and not any more once it is gone', async () => {
    await online.embed('q', patient);
    expect(kept.getFinishedSpans()).toEqual([]);
    traced();
    await online.embed('q', patient);
    expect(named('embed')).toHaveLength(1);
    trace.disable();
    await online.embed('q', patient);
    expect(named('embed')).toHaveLength(1);
  });

  it('sampled out, nothing is kept and everything answers', async () => {
    traced(new AlwaysOffSampler());
    const found = await online.search('q', async () => candidates, patient);
    expect(found.source).toBe('cross-encoder');
    expect(kept.getFinishedSpans()).toEqual([]);
  });
});

describe('the model server', () => {
  /** A reranker that tells which trace context each of its calls came with. */
  async function listening() {
    const tensor = (name: string, datatype: string, last: bigint) => ({ name, datatype, shape: [-1n, last] });
    const seen: { traceparent: unknown; tracestate: unknown }[] = [];
    const handlers: Handlers = {
      modelReady: () => ({ ready: true }),
      modelMetadata: ({ name }) => ({
        name,
        inputs: [tensor('QUERY', 'BYTES', 1n), tensor('PASSAGE', 'BYTES', 1n)],
        outputs: [tensor('SCORE', 'FP32', 1n)],
      }),
      modelConfig: () => ({ config: { maxBatchSize: 32 } }),
      modelInfer: ({ modelName, id, inputs }, { metadata }) => {
        seen.push({ traceparent: metadata.get('traceparent')[0], tracestate: metadata.get('tracestate')[0] });
        const rows = Number(inputs[0]!.shape[0]);
        const outputs = [{ name: 'SCORE', datatype: 'FP32', shape: [BigInt(rows), 1n] }];
        return { modelName, id, outputs, rawOutputContents: [new Uint8Array(4 * rows)] };
      },
    };
    const server = await startFakeServer(handlers);
    open.push(() => server.stop());
    const embed = { endpoints: `127.0.0.1:${engine.engine.ports.grpcPort}` };
    const client = await createOnline({ embed, rerank: { endpoints: server.target, transport: 'unary' } });
    open.push(() => client.close());
    seen.length = 0;
    return { client, seen };
  }

  it('gets the context of the client span, with the state of the trace', async () => {
    const { client, seen } = await listening();
    traced();
    const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1, isRemote: true };
    const remote = { ...parent, traceState: createTraceState('vendor=1') };
    await context.with(trace.setSpanContext(context.active(), remote), () => client.rerank('q', candidates, patient));
    const call = one('inference.GRPCInferenceService/ModelInfer');
    expect(parentOf(one('rerank'))).toBe('b'.repeat(16));
    expect(seen).toEqual([{ traceparent: `00-${'a'.repeat(32)}-${idOf(call)}-01`, tracestate: 'vendor=1' }]);
  });

  it('gets it as parameters of the request on a stream', async () => {
    const proxy = await CallProxy.start(`127.0.0.1:${engine.engine.ports.grpcPort}`);
    open.push(() => proxy.close());
    const sent: Buffer[] = [];
    proxy.onCall = (_, body) => void body.on('data', (part: Buffer) => sent.push(part));
    const client = await createOnline(optionsFor(proxy.address, 'stream'));
    open.push(() => client.close());
    traced();
    const parent = {
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      traceFlags: 1,
      traceState: createTraceState('c=1'),
    };
    await context.with(trace.setSpanContext(context.active(), parent), () => client.embed('q', patient));
    const bytes = Buffer.concat(sent).toString('latin1');
    expect(bytes).toContain(`00-${'a'.repeat(32)}-${idOf(one(STREAM))}-01`);
    expect(bytes).toMatch(/tracestate.{1,8}c=1/s);
  });

  it('gets what the caller gave as it is', async () => {
    const { client, seen } = await listening();
    traced();
    await inHostSpan(() => client.rerank('q', candidates, { ...patient, traceparent: GIVEN }));
    expect(seen).toEqual([{ traceparent: GIVEN, tracestate: undefined }]);
  });

  it('learns from the flags that the trace is sampled out, and gets nothing where nobody traces', async () => {
    const { client, seen } = await listening();
    await client.rerank('q', candidates, patient);
    expect(seen.pop()).toEqual({ traceparent: undefined, tracestate: undefined });
    traced(new AlwaysOffSampler());
    await client.rerank('q', candidates, patient);
    expect(seen[0]!.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });
});
