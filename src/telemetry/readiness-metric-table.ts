/** What worker and sidecar say of their readiness and of GPU memory: rows of the worker's table. Data only. */
import { checkStates, vramStates } from '../lifecycle/health-states.ts';
import type { MetricSpec } from './metric-spec.ts';

export const readinessMetrics = {
  checkState: {
    type: 'gauge',
    name: 'check_state',
    unit: 'boolean',
    help: '1 for the state that a check of readiness is in; unknown does not count against it',
    labels: { check: { atMost: 16 }, state: checkStates },
  },
  vramState: {
    type: 'gauge',
    name: 'vram_state',
    unit: 'boolean',
    help: '1 for what is known of GPU memory, where it is watched',
    labels: { state: vramStates },
  },
  vramUtilization: {
    type: 'gauge',
    name: 'vram_utilization_ratio',
    unit: 'ratio',
    help: 'GPU memory in use as a share of the capacity that counts, of the worst GPU; no series while it is not known',
    labels: {},
  },
  vramStatic: {
    type: 'gauge',
    name: 'vram_static_bytes',
    unit: 'bytes',
    help: 'GPU memory held for good, of the worst GPU; no series while it is not known',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>;
