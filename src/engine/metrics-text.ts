/** `/metrics` in the Prometheus text format, with the names, labels and help of a real Triton. Pure. */
import type { ModelRunner } from './model-runner.ts';
import type { Tally } from './statistics.ts';

type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number };
type Metric = {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  samples(runner: ModelRunner): readonly Sample[];
};

function counter(name: string, help: string, read: (runner: ModelRunner) => number): Metric {
  return { name, type: 'counter', help, samples: (runner) => [{ labels: {}, value: read(runner) }] };
}

function microseconds({ ns }: Tally): number {
  return Math.round(ns / 1000);
}

const METRICS: readonly Metric[] = [
  counter(
    'nv_inference_request_success',
    'Number of successful inference requests, all batch sizes',
    ({ statistics }) => statistics.success.count,
  ),
  {
    name: 'nv_inference_request_failure',
    type: 'counter',
    help: 'Number of failed inference requests, all batch sizes',
    samples: ({ statistics }) =>
      Object.entries(statistics.failures).map(([reason, value]) => ({ labels: { reason }, value })),
  },
  counter(
    'nv_inference_count',
    'Number of inferences performed (does not include cached requests)',
    ({ statistics }) => statistics.inferences,
  ),
  counter(
    'nv_inference_exec_count',
    'Number of model executions performed (does not include cached requests)',
    ({ statistics }) => statistics.executions,
  ),
  counter(
    'nv_inference_request_duration_us',
    'Cumulative inference request duration in microseconds (includes cached requests)',
    ({ statistics }) => microseconds(statistics.success),
  ),
  counter(
    'nv_inference_queue_duration_us',
    'Cumulative inference queuing duration in microseconds (includes cached requests)',
    ({ statistics }) => microseconds(statistics.queue),
  ),
  counter(
    'nv_inference_compute_input_duration_us',
    'Cumulative compute input duration in microseconds (does not include cached requests)',
    ({ statistics }) => microseconds(statistics.computeInput),
  ),
  counter(
    'nv_inference_compute_infer_duration_us',
    'Cumulative compute inference duration in microseconds (does not include cached requests)',
    ({ statistics }) => microseconds(statistics.computeInfer),
  ),
  counter(
    'nv_inference_compute_output_duration_us',
    'Cumulative inference compute output duration in microseconds (does not include cached requests)',
    ({ statistics }) => microseconds(statistics.computeOutput),
  ),
  {
    name: 'nv_inference_pending_request_count',
    type: 'gauge',
    help: 'Instantaneous number of pending requests awaiting execution per-model.',
    samples: ({ pending }) => [{ labels: {}, value: pending }],
  },
];

export function metricsText(runners: readonly ModelRunner[]): string {
  const lines: string[] = [];
  for (const metric of METRICS) {
    lines.push(`# HELP ${metric.name} ${metric.help}`, `# TYPE ${metric.name} ${metric.type}`);
    for (const runner of runners) {
      for (const { labels, value } of metric.samples(runner)) {
        lines.push(
          `${metric.name}${labelText({ model: runner.spec.name, ...labels, version: runner.spec.version })} ${value}`,
        );
      }
    }
  }
  return `${lines.join('\n')}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}
