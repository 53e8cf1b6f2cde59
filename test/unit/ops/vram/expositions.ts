/**
 * Texts as Triton's metrics endpoint gives them. Written by hand in the layout of a real answer (names, help, order, six
 * decimals), because no GPU is at hand: the lines about GPUs follow Triton's own documentation and source.
 */
export const GIB = 1_073_741_824;

export type Card = { readonly uuid?: string; readonly used?: string | number; readonly total?: string | number };

const INFERENCE = `# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="batch_embedder_trt",version="1"} 5142
nv_inference_request_success{model="text_tokenizer",version="1"} 5142
# HELP nv_inference_request_failure Number of failed inference requests, all batch sizes
# TYPE nv_inference_request_failure counter
nv_inference_request_failure{model="batch_embedder_trt",reason="OTHER",version="1"} 0
nv_inference_request_failure{model="batch_embedder_trt",reason="BACKEND",version="1"} 3
# HELP nv_inference_queue_duration_us Cumulative inference queuing duration in microseconds (includes cached requests)
# TYPE nv_inference_queue_duration_us counter
nv_inference_queue_duration_us{model="batch_embedder_trt",version="1"} 41203377
`;

const HOST = `# HELP nv_cpu_utilization CPU utilization rate [0.0 - 1.0]
# TYPE nv_cpu_utilization gauge
nv_cpu_utilization 0.4236139028790241
# HELP nv_cpu_memory_used_bytes CPU used memory (RAM), in bytes
# TYPE nv_cpu_memory_used_bytes gauge
nv_cpu_memory_used_bytes 6218780672
# HELP nv_pinned_memory_pool_total_bytes Pinned memory pool total memory size, in bytes
# TYPE nv_pinned_memory_pool_total_bytes gauge
nv_pinned_memory_pool_total_bytes 268435456
`;

/** A server with these cards; none at all as on a machine without a GPU, or with MIG. */
export function tritonMetrics(...cards: readonly Card[]): string {
  const lines = (name: string, help: string, pick: (card: Card) => string | number | undefined) => {
    const shown = cards.filter((card) => pick(card) !== undefined);
    if (shown.length === 0) return '';
    const samples = shown.map((card) => `${name}{gpu_uuid="${card.uuid ?? 'GPU-7b0f7c6e'}"} ${decimals(pick(card))}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${samples.join('')}`;
  };
  const gpu = [
    lines('nv_gpu_utilization', 'GPU utilization rate [0.0 - 1.0)', (card) =>
      card.total === undefined ? undefined : 0.87,
    ),
    lines('nv_gpu_memory_total_bytes', 'GPU total memory, in bytes', ({ total }) => total),
    lines('nv_gpu_memory_used_bytes', 'GPU used memory, in bytes', ({ used }) => used),
  ];
  return `${INFERENCE}${gpu.join('')}${HOST}`;
}

function decimals(value: string | number | undefined): string {
  return typeof value === 'number' ? value.toFixed(6) : String(value);
}
