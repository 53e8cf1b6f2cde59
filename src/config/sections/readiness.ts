/** How readiness is found out: which models must answer, how often they are asked, how long an answer may take. */
import type { EnvReader } from '../env-reader.ts';
import { path } from '../file-types.ts';
import { integer, text } from '../leaf-types.ts';
import { always, unset } from '../setting.ts';
import { inferenceSettings } from './inference.ts';

export const readinessSettings = {
  intervalMs: integer(
    'RAG_SERVING_READY_INTERVAL_MS',
    always(5_000),
    { min: 200, max: 60_000 },
    {
      doc: 'Milliseconds between two looks at the model server. /ready turns within two of them.',
    },
  ),
  timeoutMs: integer(
    'RAG_SERVING_READY_TIMEOUT_MS',
    always(4_000),
    { min: 100, max: 60_000 },
    {
      doc: 'Milliseconds within which each question to the model server must be answered; at most RAG_SERVING_READY_INTERVAL_MS.',
    },
  ),
  models: text(
    'RAG_SERVING_READY_MODELS',
    unset,
    {
      doc: 'Models that must be ready, comma-separated. `rag-serving ops` also infers with each that takes TEXT, or QUERY and PASSAGE.',
      defaultNote: 'RAG_SERVING_MODEL_NAME',
    },
    {
      test: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(\s*,\s*[A-Za-z0-9][A-Za-z0-9._-]{0,127}){0,31}$/,
      says: 'up to 32 model names separated by commas',
    },
  ),
  goldenFile: path('RAG_SERVING_GOLDEN_FILE', unset, {
    doc: 'Golden file, or a folder with one, that RAG_SERVING_MODEL_NAME must pass once each time it was loaded before `rag-serving ops` is ready (see docs/models.md).',
    defaultNote: 'no check',
  }),
  lingerMs: integer(
    'RAG_SERVING_OPS_LINGER_MS',
    always(10_000),
    { min: 0, max: 600_000 },
    {
      doc: 'Milliseconds for which `rag-serving ops` goes on answering (not ready) after SIGTERM, while Triton still lives.',
    },
  ),
} as const;

export type ReadinessConfig = {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly models: readonly string[];
  readonly lingerMs: number;
  readonly goldenFile: string | undefined;
  /** Undefined where nobody said where Triton's HTTP side is: a worker then asks over gRPC alone. */
  readonly httpUrl: string | undefined;
  /** Likewise for its metrics, and with them GPU memory. */
  readonly metricsUrl: string | undefined;
};

/** `besideTriton`: the program stands beside a Triton, so that the default addresses are meant. */
export function readReadiness(read: EnvReader, { besideTriton }: { readonly besideTriton: boolean }): ReadinessConfig {
  const all = readinessSettings;
  const { intervalMs, timeoutMs, models, goldenFile, lingerMs } = read.section(all);
  read.rule(
    timeoutMs <= intervalMs,
    [all.timeoutMs, all.intervalMs],
    `(${timeoutMs}) is more than ${all.intervalMs.name} (${intervalMs}); set at most as much`,
  );
  const { tritonHttpUrl, tritonMetricsUrl, modelName } = inferenceSettings;
  const asked = (models ?? read.read(modelName)).split(',').map((name) => name.trim());
  read.rule(
    goldenFile === undefined || asked.includes(read.read(modelName)),
    [all.goldenFile, all.models],
    `is set, and ${all.models.name} does not have the model that it is for; add ${modelName.name} there`,
  );
  return {
    intervalMs,
    timeoutMs,
    models: [...new Set(asked)],
    lingerMs,
    goldenFile,
    httpUrl: besideTriton || read.isSet(tritonHttpUrl) ? read.read(tritonHttpUrl) : undefined,
    metricsUrl: besideTriton || read.isSet(tritonMetricsUrl) ? read.read(tritonMetricsUrl) : undefined,
  };
}
