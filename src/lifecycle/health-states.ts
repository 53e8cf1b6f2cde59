/** How a check of readiness and the VRAM guard may stand. What each means for readiness is decided in src/ops. */
export const checkStates = ['pass', 'fail', 'unknown'] as const;
export type CheckState = (typeof checkStates)[number];

export const vramStates = [
  /** No reading has come yet. */
  'not_checked',
  'ok',
  'over_utilization',
  'over_static',
  /** The endpoint answers and shows no GPU memory: no GPU, MIG, or GPU metrics switched off. */
  'no_gpu_metrics',
  /** Series are there, and no number of them can be true: NaN, a total of zero, more used than there is. */
  'invalid_metrics',
  /** No answer, or one that is no Prometheus text. */
  'unreachable',
] as const;
export type VramState = (typeof vramStates)[number];
