/**
 * Spans as the library sees them: no tracing package here. otel-tracer.ts is the implementation; where tracing is off there
 * is no tracer at all, so that whoever would begin a span asks one question, `=== undefined`, and makes nothing.
 *
 * What may be said on a span is one table, span-attributes.ts. Never texts, ids of chunks or documents, or messages of errors.
 */
import { type ErrorCode, isServingError } from '../errors.ts';
import type { AttributeName } from './span-attributes.ts';

/** W3C trace context as it travels. */
export type TraceContext = {
  readonly traceparent: string;
  readonly tracestate?: string;
};

export type SpanAttributes = Readonly<Partial<Record<AttributeName, string | number>>>;

export type SpanStart = {
  readonly name: string;
  readonly kind: 'internal' | 'client' | 'consumer' | 'producer';
  readonly attributes?: SpanAttributes;
  /** When it began, in milliseconds since the Unix epoch; now unless given. */
  readonly startedAtMs?: number;
};

export type SpanLink = {
  readonly context: TraceContext;
  readonly attributes?: SpanAttributes;
};

export interface Span {
  /** False when it was sampled out: what would be set on it goes nowhere and need not be worked out. */
  readonly recording: boolean;
  /** For the next process. */
  readonly context: TraceContext;
  child(start: SpanStart): Span;
  /** Links to what is no trace context are left out. */
  link(links: readonly SpanLink[]): void;
  set(attributes: SpanAttributes): void;
  /** Runs with this span as the active one of the host's own instrumentation. */
  within<T>(call: () => T): T;
  /** Once. With a code the span has failed, and that is all it says of it. */
  end(code?: ErrorCode): void;
}

export interface Tracer {
  /** A span under the active one of this process; where there is none, under `parent`. */
  start(start: SpanStart, parent?: TraceContext): Span;
}

/** Ends the span with the call. */
export async function inSpan<T>(span: Span, call: () => Promise<T>): Promise<T> {
  try {
    const result = await call();
    span.end();
    return result;
  } catch (error) {
    span.end(codeOf(error));
    throw error;
  }
}

export function codeOf(error: unknown): ErrorCode {
  return isServingError(error) ? error.code : 'INTERNAL';
}
