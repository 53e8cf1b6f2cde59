/**
 * Traces of the worker, by the standard variables of OpenTelemetry. Here is read whether there are any and which way they go;
 * the SDK reads the rest itself, as it does in every program (docs/decisions/traces.md).
 *
 * Nothing in here stops a worker: these variables are often set for a whole cluster, and what they say wrongly switches its
 * traces off, with a warning.
 */
import type { EnvReader } from '../env-reader.ts';
import { secret, text } from '../leaf-types.ts';
import { Secret } from '../secret.ts';
import { type Doc, shapeOf, unset, type ValuesOf } from '../setting.ts';

const standard = (name: string, doc: string, defaultNote?: string) => {
  const about: Doc = defaultNote === undefined ? { doc } : { doc, defaultNote };
  return text(name, unset, about);
};

export const traceSettings = {
  endpoint: standard(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'Where a collector takes OTLP. Setting it, or the next one, switches traces of the worker on.',
    'no traces',
  ),
  tracesEndpoint: standard('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'The same for traces alone, as the whole address.'),
  exporter: standard(
    'OTEL_TRACES_EXPORTER',
    'otlp or none. otlp without an endpoint sends to this machine.',
    'otlp with an endpoint, else none',
  ),
  disabled: standard('OTEL_SDK_DISABLED', 'true switches traces off, whatever else is set.', 'false'),
  protocol: standard('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf, grpc or http/json.', 'http/protobuf'),
  tracesProtocol: standard('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'The same for traces alone.'),
  headers: secret('OTEL_EXPORTER_OTLP_HEADERS', { doc: 'Sent with every export, as name=value,name=value.' }),
  tracesHeaders: secret('OTEL_EXPORTER_OTLP_TRACES_HEADERS', { doc: 'The same for traces alone.' }),
  serviceName: standard('OTEL_SERVICE_NAME', 'Name of the service in its traces.', 'rag-serving-worker'),
  resourceAttributes: standard(
    'OTEL_RESOURCE_ATTRIBUTES',
    'More about this process in its traces, as key=value,key=value.',
  ),
  sampler: standard(
    'OTEL_TRACES_SAMPLER',
    'always_on, always_off, traceidratio, or one of these with parentbased_ before it.',
    'parentbased_always_on',
  ),
  samplerArg: standard('OTEL_TRACES_SAMPLER_ARG', 'Share of the batches that are traced, for traceidratio.', '1'),
  linkCountLimit: standard(
    'OTEL_SPAN_LINK_COUNT_LIMIT',
    'Messages that the span of a batch links at most.',
    'as many as a batch can have',
  ),
  queueSize: standard('OTEL_BSP_MAX_QUEUE_SIZE', 'Spans that wait for the collector at most; more are lost.', '1024'),
  exportSize: standard('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'Spans of one export at most.', '128'),
} as const;

export const otlpProtocols = ['http/protobuf', 'grpc', 'http/json'] as const;
export type OtlpProtocol = (typeof otlpProtocols)[number];

export type TracesConfig = {
  /** Undefined: no traces. */
  readonly protocol: OtlpProtocol | undefined;
  /** Limits that are set are the SDK's to read; where they are not, ours hold. */
  readonly isSet: Readonly<Record<'linkCountLimit' | 'queueSize' | 'exportSize', boolean>>;
  /** Where the spans go, for the log. */
  readonly endpoint: string | undefined;
  /** What the headers hold, for the redaction of logs. */
  readonly secrets: readonly Secret[];
};

export function readTraces(read: EnvReader): TracesConfig {
  const set = read.section(traceSettings);
  return {
    protocol: protocolOf(set, (warning) => read.warn(warning)),
    isSet: {
      linkCountLimit: set.linkCountLimit !== undefined,
      queueSize: set.queueSize !== undefined,
      exportSize: set.exportSize !== undefined,
    },
    endpoint: set.tracesEndpoint ?? set.endpoint,
    secrets: [set.headers, set.tracesHeaders].flatMap((headers) => (headers === undefined ? [] : valuesOf(headers))),
  };
}

function protocolOf(set: ValuesOf<typeof traceSettings>, warn: (warning: string) => void): OtlpProtocol | undefined {
  if (set.disabled?.toLowerCase() === 'true' || set.sampler === 'always_off') return undefined;
  const exporter = set.exporter ?? ((set.tracesEndpoint ?? set.endpoint) === undefined ? 'none' : 'otlp');
  if (exporter === 'none') return undefined;
  const protocol = set.tracesProtocol ?? set.protocol ?? 'http/protobuf';
  const known = otlpProtocols.find((one) => one === protocol);
  if (exporter !== 'otlp') {
    warn(`${traceSettings.exporter.name} has ${shapeOf(exporter)} that are neither otlp nor none: no traces`);
  } else if (known === undefined) {
    const { name } = set.tracesProtocol === undefined ? traceSettings.protocol : traceSettings.tracesProtocol;
    warn(`${name} has ${shapeOf(protocol)} that are none of ${otlpProtocols.join(', ')}: no traces`);
  } else return known;
  return undefined;
}

/** Shorter ones are names of tenants and the like; masking them would black out half of the log. */
const SECRET_LENGTH = 16;

/** The headers as they stand, and each value as it is sent. */
function valuesOf(headers: Secret): Secret[] {
  const values = headers
    .reveal()
    .split(',')
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim())
    .filter((value) => value.length >= SECRET_LENGTH);
  return [headers, ...values.flatMap((value) => [value, decoded(value)]).map((value) => new Secret(value))];
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
