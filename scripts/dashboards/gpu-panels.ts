/** What both dashboards show of Triton and its GPU. Triton's own metrics; the job variable of a dashboard is not theirs. */
import type { PanelSpec, RowSpec } from './dashboard.ts';

/** Waiting of one request in the queue of a model, in microseconds. */
export function queueWait(model: string): string {
  return `sum by (instance, model) (rate(nv_inference_queue_duration_us{model=~"${model}"}[$__rate_interval])) / sum by (instance, model) (rate(nv_inference_request_success{model=~"${model}"}[$__rate_interval]))`;
}

function computeTime(model: string): string {
  return `sum by (instance, model) (rate(nv_inference_compute_infer_duration_us{model=~"${model}"}[$__rate_interval])) / sum by (instance, model) (rate(nv_inference_request_success{model=~"${model}"}[$__rate_interval]))`;
}

export function tritonRow(models: string, alarmAt?: number): RowSpec {
  const queue: PanelSpec = {
    title: 'Wait in the queue of a model',
    description: 'Mean of a request. More than the queue delay of the model means that it does not keep up.',
    unit: 'µs',
    queries: [[queueWait(models), '{{instance}} {{model}}']],
    ...(alarmAt === undefined ? {} : { alarmAt }),
  };
  return {
    title: 'Triton and GPU',
    panels: [
      queue,
      {
        title: 'Compute time',
        description: 'Mean of a request inside the model.',
        unit: 'µs',
        queries: [[computeTime(models), '{{instance}} {{model}}']],
      },
      {
        title: 'Rows an execution',
        description: 'How much dynamic batching makes of single requests.',
        unit: 'short',
        queries: [
          [
            `sum by (instance, model) (rate(nv_inference_count{model=~"${models}"}[$__rate_interval])) / sum by (instance, model) (rate(nv_inference_exec_count{model=~"${models}"}[$__rate_interval]))`,
            '{{instance}} {{model}}',
          ],
        ],
      },
      {
        title: 'Failed requests',
        description: 'As Triton counts them.',
        unit: 'reqps',
        queries: [
          [
            `sum by (instance, model) (rate(nv_inference_request_failure{model=~"${models}"}[$__rate_interval]))`,
            '{{instance}} {{model}}',
          ],
        ],
      },
      {
        title: 'GPU memory',
        description: 'Share that is taken. Above 85 % a larger batch may not fit. Empty without a GPU.',
        unit: 'percentunit',
        queries: [['nv_gpu_memory_used_bytes / (nv_gpu_memory_total_bytes > 0)', '{{instance}} {{gpu_uuid}}']],
        alarmAt: 0.85,
      },
      {
        title: 'GPU utilization',
        description: 'Empty without a GPU.',
        unit: 'percentunit',
        queries: [['nv_gpu_utilization', '{{instance}} {{gpu_uuid}}']],
      },
    ],
  };
}
