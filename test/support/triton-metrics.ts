/**
 * Names that Triton shows. Those of inference are compared with a real server's /metrics in an integration test; those of the
 * GPU are from its documentation, because a server without a GPU shows none of them.
 */
export const TRITON_INFERENCE_METRICS = [
  'nv_inference_request_success',
  'nv_inference_request_failure',
  'nv_inference_count',
  'nv_inference_exec_count',
  'nv_inference_request_duration_us',
  'nv_inference_queue_duration_us',
  'nv_inference_compute_input_duration_us',
  'nv_inference_compute_infer_duration_us',
  'nv_inference_compute_output_duration_us',
] as const;

const TRITON_GPU_METRICS = [
  'nv_gpu_power_usage',
  'nv_gpu_power_limit',
  'nv_energy_consumption',
  'nv_gpu_utilization',
  'nv_gpu_memory_total_bytes',
  'nv_gpu_memory_used_bytes',
] as const;

export const TRITON_METRICS: readonly string[] = [...TRITON_INFERENCE_METRICS, ...TRITON_GPU_METRICS];
