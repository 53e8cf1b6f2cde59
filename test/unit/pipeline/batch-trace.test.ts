/** Spans of the pipeline, made by a real SDK that keeps them. Its neighbours are scripted: faults come when the test says so. */
import * as api from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it, vi } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { PipelineTraces, storeSpan } from '../../../src/pipeline/batch-trace.ts';
import { Pipeline } from '../../../src/pipeline/pipeline.ts';
import type { EmbedTransport } from '../../../src/pipeline/transport.ts';
import type { RawMessage } from '../../../src/records/chunk.ts';
import type { RecordInFlight } from '../../../src/records/travel.ts';
import { OtelTracer } from '../../../src/telemetry/otel-tracer.ts';
import {
  chunkRecord,
  contract,
  deletionRecord,
  rejected,
  type Script,
  ScriptedDeadLetters,
  ScriptedRetries,
  scriptedTransport,
  surroundings,
} from './scripted.ts';
import { ScriptedSink } from './scripted-sink.ts';

const traceIdOf = (n: number) => n.toString(16).padStart(32, '0');
const header = (name: string, value: string) => [name, Buffer.from(value)] as const;
const tracedHeaders = (n: number): RawMessage['headers'] => [
  header('traceparent', `00-${traceIdOf(n)}-${'b'.repeat(16)}-01`),
];

function chunk(n: number, headers = tracedHeaders(n)): RecordInFlight {
  const { record } = chunkRecord({ chunkId: `c${n}`, documentId: `d${n}` });
  return { ...record, raw: { ...record.raw, headers } };
}

type Given = {
  script?: Script;
  sampler?: Sampler;
  retries?: ScriptedRetries;
  transport?: EmbedTransport;
  traced?: boolean;
};

function openTraced({ script, sampler, retries, transport, traced = true }: Given = {}) {
  const kept = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(kept)],
    ...(sampler === undefined ? {} : { sampler }),
  });
  const tracer = new OtelTracer(api, provider.getTracer('test'), () => api.ROOT_CONTEXT);
  const named = { topic: 'chunks', deadLetterTopic: 'chunks.dlq', consumerGroup: 'group', workerId: 'w-1' };
  const traces = new PipelineTraces({ tracer, ...named });
  const sink = new ScriptedSink();
  const deadLetters = new ScriptedDeadLetters();
  const pipeline = new Pipeline({
    transport: transport ?? scriptedTransport(script).transport,
    contract,
    norm: 'unit',
    timeoutMs: 1_000,
    sink,
    deadLetters,
    retries,
    traces: traced ? traces : undefined,
    surroundings: surroundings(),
    limits: { maxItems: 4, maxBytes: 10_000, maxWaitMs: 5 },
    batchesInFlight: 2,
    persistConcurrency: 2,
    storeText: true,
    onFatal: (error) => {
      throw error;
    },
  });
  const run = async (...records: RecordInFlight[]) => {
    pipeline.accept(records);
    await vi.waitFor(() => expect(pipeline.inFlight).toBe(0), { timeout: 5_000, interval: 2 });
  };
  return { pipeline, traces, sink, deadLetters, run, kept, spans: () => kept.getFinishedSpans() };
}

const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;
const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;

describe('a batch', () => {
  it('is one span that links its messages and says where they stand, with the write under it', async () => {
    const { run, spans } = openTraced();
    await run(chunk(1), chunk(2), chunk(3));
    const [write, batch] = spans();
    expect(spans()).toHaveLength(2);
    expect(batch).toMatchObject({
      name: 'process chunks',
      kind: api.SpanKind.CONSUMER,
      status: { code: api.SpanStatusCode.UNSET },
      attributes: {
        'messaging.system': 'kafka',
        'messaging.destination.name': 'chunks',
        'messaging.consumer.group.name': 'group',
        'messaging.client.id': 'w-1',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.batch.message_count': 3,
        'rag_serving.rows': 3,
        'rag_serving.batch.closed_by': 'wait',
        'rag_serving.chunks.persisted': 3,
      },
    });
    expect(batch!.parentSpanContext).toBeUndefined();
    expect(batch!.links.map(({ context }) => [context.traceId, context.isRemote])).toEqual([
      [traceIdOf(1), true],
      [traceIdOf(2), true],
      [traceIdOf(3), true],
    ]);
    expect(batch!.links[0]!.attributes).toEqual({
      'messaging.destination.partition.id': '0',
      'messaging.kafka.offset': expect.any(Number),
    });
    expect(write).toMatchObject({
      name: 'upsert scripted',
      kind: api.SpanKind.CLIENT,
      attributes: { 'db.system.name': 'scripted', 'db.operation.name': 'upsert', 'db.operation.batch.size': 3 },
    });
    expect(parentOf(write)).toBe(idOf(batch));
  });

  it('chunks of one batch message are one link; messages without a trace, or with nonsense, are none', async () => {
    const { run, spans } = openTraced();
    const first = chunk(1);
    const second = { ...chunk(2), raw: first.raw } as RecordInFlight;
    const nonsense = [header('traceparent', 'no trace'), header('tracestate', '\u0000')];
    await run(first, second, chunk(3, []), chunk(4, nonsense));
    const batch = spans().at(-1)!;
    expect(batch.attributes).toMatchObject({ 'messaging.batch.message_count': 3, 'rag_serving.rows': 4 });
    expect(batch.links).toHaveLength(1);
  });

  it('of two traceparents the last counts, and the state of the trace goes along', async () => {
    const { run, spans } = openTraced();
    await run(chunk(1, [...tracedHeaders(1), header('tracestate', 'a=1,b=2'), ...tracedHeaders(9)]));
    const [link] = spans().at(-1)!.links;
    expect(link!.context.traceId).toBe(traceIdOf(9));
    expect(link!.context.traceState?.serialize()).toBe('a=1,b=2');
  });

  it('ends with the last of its chunks: attempts, dead letters and their code are under it', async () => {
    const script: Script = (texts) => {
      if (texts.some((text) => text.endsWith('c2'))) throw rejected();
    };
    const { run, spans, sink, deadLetters } = openTraced({ script });
    sink.failures = 1;
    await run(chunk(1), chunk(2));
    const batch = spans().at(-1)!;
    expect(batch).toMatchObject({
      name: 'process chunks',
      status: { code: api.SpanStatusCode.ERROR, message: 'INFERENCE_REJECTED' },
      attributes: {
        'error.type': 'INFERENCE_REJECTED',
        'rag_serving.chunks.persisted': 1,
        'rag_serving.chunks.dead_lettered': 1,
      },
    });
    const under = spans().slice(0, -1);
    expect(under.map(parentOf)).toEqual(under.map(() => idOf(batch)));
    expect(under.map(({ name, status }) => `${name} ${status.message ?? 'ok'}`).sort()).toEqual([
      'send chunks.dlq ok',
      'upsert scripted SINK_UNAVAILABLE',
      'upsert scripted ok',
    ]);
    expect(under.find(({ name }) => name === 'send chunks.dlq')?.kind).toBe(api.SpanKind.PRODUCER);
    // The letter is the message as it came: whoever follows the producer's trace finds it.
    expect(deadLetters.letters[0]!.raw.headers).toEqual(tracedHeaders(2));
  });

  it('a chunk for the retry queue takes its trace along and links it again when it comes back', async () => {
    const script: Script = (texts) => {
      if (texts.some((text) => text.endsWith('c2'))) throw rejected();
    };
    const retries = new ScriptedRetries();
    const { run, spans, kept } = openTraced({ script, retries });
    await run(chunk(2));
    expect(spans().map(({ name }) => name)).toEqual(['send retry', 'process chunks']);
    expect(spans()[1]!.attributes['rag_serving.chunks.handed_over']).toBe(1);
    const { raw } = retries.entries[0]!;
    kept.reset();
    await run({ ...chunk(3), raw, retry: { attempts: 1, last: true } } as RecordInFlight);
    const again = spans().at(-1)!;
    expect(again.attributes['rag_serving.batch.closed_by']).toBe('retry');
    expect(again.links[0]!.context.traceId).toBe(traceIdOf(2));
  });

  it('of deletions, and of messages that cannot be read', async () => {
    const { run, spans, kept } = openTraced();
    const { record } = deletionRecord({ scope: 'chunk', id: 'x' });
    await run({ ...record, raw: { ...record.raw, headers: tracedHeaders(5) } });
    expect(spans().map(({ name }) => name)).toEqual(['delete scripted', 'process chunks']);
    expect(spans()[1]!.links[0]!.context.traceId).toBe(traceIdOf(5));
    kept.reset();
    const error = new ServingError('CHUNK_BLANK', 'text: nothing but white space (1 characters)');
    const { raw } = chunk(6);
    await run({ kind: 'reject', error, raw, index: undefined, settle: () => {} });
    expect(spans().map(({ name }) => name)).toEqual(['send chunks.dlq', 'process chunks']);
    expect(spans()[1]).toMatchObject({
      status: { message: 'CHUNK_BLANK' },
      links: [{ context: { traceId: traceIdOf(6) } }],
    });
  });

  it('cut off by the end of a drain says how many were left', async () => {
    const { pipeline, spans } = openTraced({ script: () => new Promise(() => {}) });
    pipeline.accept([chunk(1), chunk(2)]);
    expect(await pipeline.drain(AbortSignal.timeout(20))).toBe(2);
    expect(spans().at(-1)!.attributes).toMatchObject({ 'rag_serving.chunks.abandoned': 2 });
  });

  it('where nothing is traced there is no span to hand on', async () => {
    const inner = scriptedTransport().transport;
    const given: unknown[] = [];
    const transport: EmbedTransport = {
      embed: (texts, span, signal) => {
        given.push(span);
        return inner.embed(texts, span, signal);
      },
    };
    const untraced = openTraced({ transport, traced: false });
    await untraced.run(chunk(1));
    expect(given).toEqual([undefined]);
    const { run } = openTraced({ transport });
    await run(chunk(2));
    expect(given[1]).toBeDefined();
  });

  it.each([
    ['is read for its links', undefined, 1, 3],
    ['sampled out is no span, and nobody looks at its headers', new AlwaysOffSampler(), 0, 0],
  ])('%s', async (_, sampler, reads, kept) => {
    const { run, spans, traces, sink } = openTraced(sampler === undefined ? {} : { sampler });
    const message = chunk(1);
    let read = 0;
    const raw = { ...message.raw };
    const get = () => {
      read++;
      return tracedHeaders(1);
    };
    Object.defineProperty(raw, 'headers', { get });
    await run({ ...message, raw });
    traces.committed(Date.now(), undefined);
    expect(sink.rows.size).toBe(1);
    expect(spans()).toHaveLength(kept);
    expect(read).toBe(reads);
  });
});

describe('a commit', () => {
  it('hangs under the last batch before it and links the others; one that fails is tried for the same batches again', async () => {
    const { run, spans, kept, traces } = openTraced();
    await run(chunk(1));
    await run(chunk(2));
    const [first, second] = spans().filter(({ name }) => name === 'process chunks');
    kept.reset();
    traces.committed(Date.now() - 5, 'KAFKA_UNAVAILABLE');
    traces.committed(Date.now() - 5, undefined);
    traces.committed(Date.now() - 5, undefined);
    expect(spans().map(({ name, status }) => [name, status.message])).toEqual([
      ['commit chunks', 'KAFKA_UNAVAILABLE'],
      ['commit chunks', undefined],
    ]);
    for (const commit of spans()) {
      expect(parentOf(commit)).toBe(idOf(second));
      expect(commit.links.map(({ context }) => context.spanId)).toEqual([idOf(first)]);
      expect(commit.attributes).toMatchObject({
        'messaging.operation.name': 'commit',
        'messaging.operation.type': 'settle',
        'messaging.consumer.group.name': 'group',
      });
    }
  });
});

describe('the span of a store', () => {
  it("has OpenTelemetry's name of the database, not that of the sink", () => {
    expect(storeSpan('pgvector', 'persist', 2).attributes).toMatchObject({ 'db.system.name': 'postgresql' });
    expect(storeSpan('redis', 'delete', 1).attributes).toEqual({
      'db.system.name': 'redis',
      'db.operation.name': 'delete',
    });
  });
});
