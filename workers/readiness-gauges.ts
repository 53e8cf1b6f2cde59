/** What /ready and /status say of checks and GPU memory, as gauges: read at each scrape, so that all three agree. */

import { checkStates, vramStates } from '../src/lifecycle/health-states.ts';
import type { Check } from '../src/ops/readiness.ts';
import type { VramStatus } from '../src/ops/status-schema.ts';
import type { Metrics } from '../src/telemetry/metrics.ts';

/** `readVram`: null where GPU memory is not watched. */
export function watchReadiness(
  metrics: Metrics,
  readChecks: () => readonly Check[],
  readVram: () => VramStatus | null,
): void {
  metrics.onScrape(() => {
    for (const { name, state: current } of readChecks()) {
      for (const state of checkStates) metrics.checkState.set({ check: name, state }, state === current ? 1 : 0);
    }
    const vram = readVram();
    // What is no longer known must not stand as it was last.
    metrics.vramUtilization.clear();
    metrics.vramStatic.clear();
    if (vram === null) return;
    for (const state of vramStates) metrics.vramState.set({ state }, state === vram.state ? 1 : 0);
    if (vram.utilization !== null) metrics.vramUtilization.set({}, vram.utilization);
    if (vram.staticBytes !== null) metrics.vramStatic.set({}, vram.staticBytes);
  });
}
