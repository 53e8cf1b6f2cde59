/**
 * The metrics of the online module, in a registry that the host brings and shows itself.
 *
 * Several clients of one process count in the same series, so the gauges move by steps and are never set to what one client knows.
 */
import type { Registry } from 'prom-client';
import { errorCodes } from '../errors.ts';
import { counter, gauge, histogram, type LabelRules, OTHER, type SeriesOptions } from './metric-series.ts';

/** A registry of prom-client. */
export type MetricsRegistry = Registry;

export type OnlineMetrics = ReturnType<typeof createOnlineMetrics>;

const pools = ['embed', 'rerank'] as const;
const operations = [...pools, 'search'] as const;
const ends = ['ok', 'degraded', ...errorCodes, OTHER] as const;
const breakerStates = ['closed', 'half-open', 'open'] as const;
const SECONDS = [0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.035, 0.04, 0.05, 0.075, 0.1, 0.25, 1];

export function createOnlineMetrics(registry: MetricsRegistry) {
  const about = <L extends LabelRules>(name: string, help: string, labels: L): SeriesOptions<L> => ({
    registry,
    name: `rag_serving_online_${name}`,
    help,
    labels,
    onDropped: () => {},
  });
  const calls = counter(about('calls_total', 'Calls by how they ended', { operation: operations, end: ends }));
  const duration = histogram({
    ...about('call_duration_seconds', 'Time of a call as its caller sees it', { operation: operations }),
    buckets: SECONDS,
  });
  const degradations = counter(
    about('degraded_total', 'Reranks that came back in the incoming order, by why', { reason: { atMost: 16 } }),
  );
  const underWay = gauge(
    about('requests_in_flight', 'Requests to the model server that are under way', { pool: pools }),
  );
  const breakers = counter(
    about('breaker_changes_total', 'Changes of the breaker of an endpoint, by its new state', {
      pool: pools,
      endpoint: { atMost: 64 },
      state: breakerStates,
    }),
  );
  const cuts = counter(
    about('cut_texts_total', 'Texts that were longer than the limit and have been cut', { pool: pools }),
  );
  return {
    ended: (operation: (typeof operations)[number], end: (typeof ends)[number], ms: number): void => {
      calls.add({ operation, end });
      duration.observe({ operation }, ms / 1_000);
    },
    degraded: (reason: string): void => degradations.add({ reason }),
    inFlight: (pool: (typeof pools)[number], change: number): void => underWay.add({ pool }, change),
    breaker: (pool: (typeof pools)[number], endpoint: string, state: (typeof breakerStates)[number]): void =>
      breakers.add({ pool, endpoint, state }),
    /** Counts stay: they are of changes that have been. */
    left: (): void => {},
    cut: (pool: (typeof pools)[number]): void => cuts.add({ pool }),
  };
}
