/**
 * Tracer and Span over the OpenTelemetry API, whoever's SDK is behind it: the host's in the online module, our own in the
 * worker. The API comes as an argument, for a host need not have it.
 */
import type { Span as ApiSpan, Tracer as ApiTracer, Attributes, Context, SpanContext } from '@opentelemetry/api';
import type { ErrorCode } from '../errors.ts';
import { formatTraceparent, parseTraceparent } from './trace-context.ts';
import type { Span, SpanAttributes, SpanLink, SpanStart, TraceContext, Tracer } from './tracing.ts';

export type OtelApi = Pick<
  typeof import('@opentelemetry/api'),
  'trace' | 'context' | 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode' | 'createTraceState'
>;

export class OtelTracer implements Tracer {
  readonly #api: OtelApi;
  readonly #tracer: ApiTracer;
  readonly #active: () => Context;

  /** @param active where spans hang that are given no parent of ours */
  constructor(api: OtelApi, tracer: ApiTracer, active: () => Context) {
    this.#api = api;
    this.#tracer = tracer;
    this.#active = active;
  }

  start(start: SpanStart, parent?: TraceContext): Span {
    const { trace } = this.#api;
    const active = this.#active();
    const given = parent === undefined || trace.getSpan(active) !== undefined ? undefined : remote(this.#api, parent);
    return begin(this.#api, this.#tracer, start, given === undefined ? active : trace.setSpanContext(active, given));
  }
}

class OtelSpan implements Span {
  readonly #api: OtelApi;
  readonly #tracer: ApiTracer;
  readonly #span: ApiSpan;
  readonly #context: Context;

  constructor(api: OtelApi, tracer: ApiTracer, span: ApiSpan, context: Context) {
    this.#api = api;
    this.#tracer = tracer;
    this.#span = span;
    this.#context = context;
  }

  get recording(): boolean {
    return this.#span.isRecording();
  }

  get context(): TraceContext {
    const spanContext = this.#span.spanContext();
    const tracestate = spanContext.traceState?.serialize() ?? '';
    const traceparent = formatTraceparent(spanContext);
    return tracestate === '' ? { traceparent } : { traceparent, tracestate };
  }

  child(start: SpanStart): Span {
    return begin(this.#api, this.#tracer, start, this.#context);
  }

  link(links: readonly SpanLink[]): void {
    for (const { context, attributes } of links) {
      const linked = remote(this.#api, context);
      if (linked === undefined) continue;
      // An SDK of the host may be older than links that are added.
      this.#span.addLink?.({ context: linked, ...(attributes === undefined ? {} : { attributes: plain(attributes) }) });
    }
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(plain(attributes));
  }

  within<T>(call: () => T): T {
    return this.#api.context.with(this.#context, call);
  }

  end(code?: ErrorCode): void {
    if (code !== undefined) {
      this.#span.setAttribute('error.type', code);
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: code });
    }
    this.#span.end();
  }
}

function begin(api: OtelApi, tracer: ApiTracer, start: SpanStart, parent: Context): OtelSpan {
  const { name, kind, attributes, startedAtMs } = start;
  const options = {
    kind: kindOf(api, kind),
    ...(attributes === undefined ? {} : { attributes: plain(attributes) }),
    ...(startedAtMs === undefined ? {} : { startTime: startedAtMs }),
  };
  const span = tracer.startSpan(name, options, parent);
  return new OtelSpan(api, tracer, span, api.trace.setSpan(parent, span));
}

/** Undefined for what is no trace context. Whatever a tracestate holds is read by the API, which drops what may not be in it. */
function remote(api: OtelApi, { traceparent, tracestate }: TraceContext): SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  if (parsed === undefined) return undefined;
  if (tracestate === undefined) return { ...parsed, isRemote: true };
  return { ...parsed, isRemote: true, traceState: api.createTraceState(tracestate) };
}

function kindOf({ SpanKind }: OtelApi, kind: SpanStart['kind']) {
  switch (kind) {
    case 'internal':
      return SpanKind.INTERNAL;
    case 'client':
      return SpanKind.CLIENT;
    case 'consumer':
      return SpanKind.CONSUMER;
    case 'producer':
      return SpanKind.PRODUCER;
  }
}

/** The same object; only its type forgets which names there are. */
function plain(attributes: SpanAttributes): Attributes {
  return attributes;
}
