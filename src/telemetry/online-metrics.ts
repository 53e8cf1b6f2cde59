/**
 * The metrics of the online module, in a registry that the host brings and shows itself.
 *
 * Several clients of one process count in the same series, so the gauges move by steps and are never set to what one client knows.
 */
import type { Registry } from 'prom-client';
import type { BreakerStateName } from '../resilience/breaker.ts';
import { createSeries } from './metric-series.ts';
import type { GrpcCode } from './metric-spec.ts';
import { onlineMetrics, type onlineOperations, type onlineOutcomes, type onlinePools } from './online-metric-table.ts';

/** A registry of prom-client. */
export type MetricsRegistry = Registry;

export type OnlineMetrics = ReturnType<typeof createOnlineMetrics>;

type Pool = (typeof onlinePools)[number];
type Operation = (typeof onlineOperations)[number];
type Outcome = (typeof onlineOutcomes)[number];

export function createOnlineMetrics(registry: MetricsRegistry) {
  const series = createSeries(onlineMetrics, registry, () => {});
  return {
    ended: (pool: Operation, outcome: Outcome, ms: number): void => {
      series.calls.add({ pool, source: sourceOf(outcome), outcome });
      series.duration.observe({ pool }, ms / 1_000);
    },
    degraded: (reason: string): void => series.degradations.add({ reason }),
    inFlight: (pool: Pool, change: number): void => series.underWay.add({ pool }, change),
    breaker: (pool: Pool, endpoint: string, state: BreakerStateName): void =>
      series.breakers.add({ pool, endpoint, state }),
    /** Counts stay: they are of changes that have been. */
    left: (): void => {},
    cut: (pool: Pool): void => series.cuts.add({ pool }),
    asked: (pool: Pool, method: string, code: string): void =>
      series.grpcCalls.add({ pool, method, code: code as GrpcCode }),
  };
}

/** A degraded answer is the incoming order, scored by its ranks; a call that failed has no answer. */
function sourceOf(outcome: Outcome): 'model' | 'rrf' | 'none' {
  if (outcome === 'ok') return 'model';
  return outcome === 'degraded' ? 'rrf' : 'none';
}
