/** docs/metrics.md, written from the tables of metrics. Pure. */
import type { LabelRule } from '../../src/telemetry/label-bounds.ts';
import { type MetricSpec, PREFIX } from '../../src/telemetry/metric-spec.ts';
import { workerMetrics } from '../../src/telemetry/metric-table.ts';
import { onlineMetrics } from '../../src/telemetry/online-metric-table.ts';

const HEAD = `# Metrics

Written from the tables in [src/telemetry](../src/telemetry) by \`make docs\`; a test holds them together.

\`GET /metrics\` of the worker answers in the Prometheus text format, and in OpenMetrics where the \`Accept\` header asks for
it. With \`RAG_SERVING_API_KEY\` it wants the key, as \`Authorization: Bearer …\` or \`X-API-Key\`. The metrics of the online module
are in the registry that its host brings, and shown by the host.

Every series of the worker has the label \`pool\`. A label has a closed list of values, or at most so many different ones: those
after that are called \`other\`. Counters with few combinations of labels begin at 0. A series of a partition is gone
as soon as the partition is.

Beside these the worker has \`process_*\` and \`nodejs_*\` as prom-client defines them: CPU, memory, file descriptors, heap,
garbage collection. The model server has its own: \`nv_inference_*\`, \`nv_gpu_*\`.
`;

export function renderMetricsDoc(): string {
  return `${HEAD}
## Worker

${table(workerMetrics)}

## Online module

${table(onlineMetrics)}
`;
}

function table(specs: Readonly<Record<string, MetricSpec>>): string {
  const rows = Object.values(specs).map(
    ({ name, type, unit, help, labels }) =>
      `| \`${PREFIX}${name}\` | ${type} | ${unit} | ${help} | ${
        Object.entries(labels)
          .map(([label, rule]) => `\`${label}\`: ${values(rule)}`)
          .join('; ') || '–'
      } |`,
  );
  return ['| name | type | unit | meaning | labels |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}

/** Codes of errors are many and have a table of their own. */
function values(rule: LabelRule): string {
  if ('atMost' in rule) return `at most ${rule.atMost}`;
  if (!rule.includes('CHUNK_INVALID')) return rule.join(', ');
  const others = rule.filter((value) => !/^[A-Z]/.test(value));
  return `${others.length === 0 ? '' : `${others.join(', ')}, or `}a code of [src/errors.ts](../src/errors.ts)`;
}
