/**
 * Spans of a program to a collector, over OTLP. Loaded only where a program is to trace, for it brings the whole SDK.
 *
 * The SDK is not registered for the process: nothing else of it is traced by accident, and an SDK that an operator preloads
 * goes on as it is. What the SDK has to say of its settings is logged while it is made; later it is silent, for it would
 * write a line for every batch that a collector does not take (export-watch.ts says it rarely).
 */
import * as api from '@opentelemetry/api';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import { boundedWait } from '../bounded-wait.ts';
import { WatchedExporter } from './export-watch.ts';
import type { Log } from './log.ts';
import { OtelTracer } from './otel-tracer.ts';
import type { Tracer } from './tracing.ts';

export type OtlpProtocolName = 'http/protobuf' | 'grpc' | 'http/json';

export type TracingLimits = {
  readonly linksOfSpan: number | undefined;
  readonly spansWaiting: number | undefined;
  readonly spansOfExport: number | undefined;
};

export type OtlpTracingOptions = {
  readonly protocol: OtlpProtocolName;
  /** Unless OTEL_SERVICE_NAME says otherwise. */
  readonly service: string;
  readonly instance: string;
  /** What is undefined is left to the environment. */
  readonly limits: TracingLimits;
  readonly log: Log;
};

export type Tracing = {
  readonly tracer: Tracer;
  /** Sends what is left, until the signal aborts. Never rejects: what does not arrive has been told. */
  close(signal: AbortSignal): Promise<void>;
};

const SCOPE = 'rag-inference-serving';

/** Rejects when the SDK cannot be made of what the environment says. */
export async function openOtlpTracing(options: OtlpTracingOptions): Promise<Tracing> {
  const { protocol, service, instance, limits, log } = options;
  const say = (says: string) => log.warn('traces: a setting of OpenTelemetry', { says });
  const silent = () => {};
  const logger = { error: say, warn: say, info: silent, debug: silent, verbose: silent };
  api.diag.setLogger(logger, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true });
  try {
    const exporter = new WatchedExporter(await exporterFor(protocol), log);
    const named = resourceFromAttributes({ 'service.name': service, 'service.instance.id': instance });
    const provider = new BasicTracerProvider({
      resource: defaultResource()
        .merge(named)
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [
        new BatchSpanProcessor(exporter, {
          ...(limits.spansWaiting === undefined ? {} : { maxQueueSize: limits.spansWaiting }),
          ...(limits.spansOfExport === undefined ? {} : { maxExportBatchSize: limits.spansOfExport }),
        }),
      ],
      ...(limits.linksOfSpan === undefined ? {} : { spanLimits: { linkCountLimit: limits.linksOfSpan } }),
    });
    return {
      tracer: new OtelTracer(api, provider.getTracer(SCOPE), () => api.ROOT_CONTEXT),
      close: (signal) => boundedWait(provider.shutdown(), { signal }, () => new Error('late')).catch(() => {}),
    };
  } finally {
    api.diag.disable();
  }
}

/** Endpoint, headers, compression, certificates and timeout are the exporters' own to read. */
async function exporterFor(protocol: OtlpProtocolName): Promise<SpanExporter> {
  switch (protocol) {
    case 'http/protobuf': {
      const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
      return new OTLPTraceExporter();
    }
    case 'grpc': {
      const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
      return new OTLPTraceExporter();
    }
    case 'http/json': {
      const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
      return new OTLPTraceExporter();
    }
  }
}
