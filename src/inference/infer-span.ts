/**
 * An inference as a client span of the gRPC call, under the span of whatever it is for; its context goes along instead, unless
 * the caller has one of its own. Of several calls that it serves it links all but one. Without a span just the inference.
 */
import { isServingError } from '../errors.ts';
import type { InferRequest, InferResponse } from '../kserve/tensor.ts';
import { codeOf, type Span } from '../telemetry/tracing.ts';
import type { CallOptions, InferenceClient } from './client.ts';

const METHODS = {
  unary: 'inference.GRPCInferenceService/ModelInfer',
  stream: 'inference.GRPCInferenceService/ModelStreamInfer',
} as const;

const NOBODY: readonly Span[] = [];

export type InferPath = keyof typeof METHODS;

export function inferWithin(
  span: Span | undefined,
  client: InferenceClient,
  request: InferRequest,
  options: CallOptions,
  path: InferPath = 'unary',
  alsoFor: readonly Span[] = NOBODY,
): Promise<InferResponse> {
  return span === undefined ? client.infer(request, options) : traced(span, client, request, options, path, alsoFor);
}

async function traced(
  parent: Span,
  client: InferenceClient,
  request: InferRequest,
  options: CallOptions,
  path: InferPath,
  alsoFor: readonly Span[],
): Promise<InferResponse> {
  const method = METHODS[path];
  const span = parent.child({
    name: method,
    kind: 'client',
    attributes: {
      'rpc.system.name': 'grpc',
      'rpc.method': method,
      'gen_ai.request.model': request.modelName,
      'rag_serving.rows': request.inputs[0]?.shape[0] ?? 0,
    },
  });
  if (alsoFor.length > 0 && span.recording) span.link(alsoFor);
  try {
    const sent = options.traceparent === undefined ? { ...options, ...span.context } : options;
    const response = await client.infer(request, sent);
    if (span.recording) span.set({ 'rpc.status_code': 'OK' });
    span.end();
    return response;
  } catch (error) {
    const status = isServingError(error) ? error.details.status : undefined;
    if (typeof status === 'string') span.set({ 'rpc.status_code': status });
    span.end(codeOf(error));
    throw error;
  }
}
