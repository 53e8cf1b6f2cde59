/**
 * The span of a call, where the host traces: `embed`, `rerank` or `search`, under whatever is active there. What is called in
 * it hangs under it, the caller's own retrieval too. Without an SDK nothing is made.
 */
import type { HostTracing } from '../src/telemetry/host-tracing.ts';
import { inSpan, type Span } from '../src/telemetry/tracing.ts';
import { type CallLimits, givenTraceparent } from './budget.ts';
import type { Operation } from './events.ts';

/** Only `embed` has a name in the conventions for models. */
const GEN_AI = { 'gen_ai.operation.name': 'embeddings' } as const;

export function inCallSpan<T extends object>(
  tracing: HostTracing | undefined,
  operation: Operation,
  model: string | undefined,
  limits: CallLimits,
  call: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const tracer = tracing?.tracer();
  if (tracer === undefined) return call(undefined);
  const traceparent = givenTraceparent(limits);
  const span = tracer.start(
    {
      name: operation,
      kind: 'internal',
      attributes: {
        ...(operation === 'search' ? {} : { 'rag_serving.pool': operation }),
        ...(operation === 'embed' ? GEN_AI : {}),
        ...(model === undefined ? {} : { 'gen_ai.request.model': model }),
      },
    },
    traceparent === undefined ? undefined : { traceparent },
  );
  return inSpan(span, () =>
    span.within(async () => {
      const result: T & Outcome = await call(span);
      if (result.source !== undefined) span.set({ 'rag_serving.source': result.source });
      if (result.degraded !== undefined) span.set({ 'rag_serving.degraded': result.degraded });
      return result;
    }),
  );
}

/** What a rerank and a search tell of how they ended. */
type Outcome = { readonly source?: string; readonly degraded?: string | undefined };
