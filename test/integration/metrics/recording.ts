/**
 * The series that the rules judge, taken from a real run and written as promtool's tests want them. Addresses of the run
 * become names, and what never left 0 among the many error codes is left out.
 */
import type { RunningPrometheus, SeriesHistory } from '../../../scripts/stack/prometheus.ts';
import { workerMetrics } from '../../../src/telemetry/metric-table.ts';

export type RecordedSeries = { readonly series: string; readonly values: string };

const RECORDED = [
  'up',
  'nv_inference_queue_duration_us',
  'nv_inference_request_success',
  ...(
    [
      workerMetrics.chunks,
      workerMetrics.consumerLag,
      workerMetrics.consumerLagAge,
      workerMetrics.inFlightChunks,
      workerMetrics.deadLetters,
      workerMetrics.commits,
      workerMetrics.offsetsGone,
      workerMetrics.watchdogActions,
      workerMetrics.breakerState,
      workerMetrics.stageErrors,
    ] as const
  ).map(({ name }) => `rag_serving_${name}`),
];

/** JSON: one second of the run a value. */
export async function recordSeries(prometheus: RunningPrometheus, from: number): Promise<string> {
  const to = Math.floor(Date.now() / 1_000);
  const recorded: RecordedSeries[] = [];
  for (const name of RECORDED) {
    for (const history of await prometheus.history(name, from, to, 1)) {
      const isIdle = history.samples.every(([, value]) => value === '0');
      if (isIdle && /dead_letters|watchdog|stage_errors/.test(name)) continue;
      recorded.push({ series: seriesOf(history), values: valuesOf(history, from, to) });
    }
  }
  return `${JSON.stringify({ seconds: to - from + 1, series: recorded }, undefined, 2)}\n`;
}

function seriesOf({ labels }: SeriesHistory): string {
  const { __name__: name, ...rest } = labels;
  const written = Object.entries(rest).map(([label, value]) => `${label}="${named(label, value, rest.job)}"`);
  return `${name}{${written.join(',')}}`;
}

function named(label: string, value: string, job: string | undefined): string {
  if (label === 'endpoint') return 'triton:8001';
  if (label !== 'instance') return value;
  return job === 'triton' ? 'triton:8002' : 'worker:8080';
}

/** `5+0x3` is 5 four times, `_x3` three times nothing. */
function valuesOf({ samples }: SeriesHistory, from: number, to: number): string {
  const at = new Map(samples.map(([time, value]) => [Math.round(time), value]));
  const runs: { value: string | undefined; times: number }[] = [];
  for (let second = from; second <= to; second++) {
    const value = at.get(second);
    const last = runs.at(-1);
    if (last !== undefined && last.value === value) last.times++;
    else runs.push({ value, times: 1 });
  }
  return runs
    .map(({ value, times }) => (value === undefined ? `_x${times}` : times === 1 ? value : `${value}+0x${times - 1}`))
    .join(' ');
}
