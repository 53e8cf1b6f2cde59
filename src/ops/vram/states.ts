/** The states of the VRAM guard. What each means for readiness is decided in guard.ts. */
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

export const staticSources = ['statistics', 'floor'] as const;
/** Where the static share comes from: what models say of themselves, or the least that was in use after they were loaded. */
export type StaticSource = (typeof staticSources)[number];
