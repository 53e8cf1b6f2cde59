/**
 * The metrics of this process, made from the table. One registry an instance, never the global one, so that two instances
 * in one process neither collide nor count for each other.
 */
import { collectDefaultMetrics, Registry } from 'prom-client';
import { type Phase, phases } from '../lifecycle/phase.ts';
import { type BreakerStateName, breakerStates } from '../resilience/breaker.ts';
import { watchEventLoop } from './event-loop.ts';
import { type Exposition, exposition, withLabel } from './exposition.ts';
import { createSeries } from './metric-series.ts';
import { workerMetrics } from './metric-table.ts';

export type MetricsOptions = {
  /** A label on every series. */
  readonly pool: string;
  readonly version?: string;
  /** Adds process_* and nodejs_* (memory, CPU, garbage collection). They watch the process until it ends. */
  readonly processMetrics?: boolean;
};

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Left out of prom-client's own: the lag prints NaN until its first sample (event_loop_lag_seconds says the same without),
 * and gauges may not end in `_total`.
 */
const LEFT_OUT = /^nodejs_(eventloop_lag_|active_(handles|requests|resources)_total$)/;

export function createMetrics({ pool, version = 'unknown', processMetrics = false }: MetricsOptions) {
  const registry = new Registry();
  const onScrape = new Set<() => void>();

  let dropped = (): void => {};
  const series = createSeries(workerMetrics, registry, () => dropped());
  dropped = () => series.droppedValues.add({});
  series.buildInfo.set({ version, node: process.version }, 1);

  const breakers = new Map<string, BreakerStateName>();
  const showBreaker = (endpoint: string, current: BreakerStateName): void => {
    for (const state of breakerStates) series.breakerState.set({ endpoint, state }, state === current ? 1 : 0);
  };

  const loop = watchEventLoop();
  onScrape.add(() => {
    const lag = loop.read();
    series.eventLoopLag.set({ statistic: 'p50' }, lag.p50Seconds);
    series.eventLoopLag.set({ statistic: 'p99' }, lag.p99Seconds);
    series.eventLoopLag.set({ statistic: 'max' }, lag.maxSeconds);
  });
  if (processMetrics) {
    collectDefaultMetrics({ register: registry });
    for (const { name } of registry.getMetricsAsArray()) if (LEFT_OUT.test(name)) registry.removeSingleMetric(name);
  }

  return {
    ...series,
    /** Runs before each scrape: the place to read gauges that others keep. */
    onScrape: (read: () => void): void => void onScrape.add(read),
    setPhase: (current: Phase): void => {
      for (const phase of phases) series.phase.set({ phase }, phase === current ? 1 : 0);
    },
    setBreaker: (endpoint: string, current: BreakerStateName): void => {
      breakers.set(endpoint, current);
      showBreaker(endpoint, current);
    },
    /** Of a server that is gone, so that it is not shown as it was last for ever. */
    dropBreaker: (endpoint: string): void => {
      if (!breakers.delete(endpoint)) return;
      series.breakerState.clear();
      for (const [known, current] of breakers) showBreaker(known, current);
    },
    /** In the form that the reader's Accept header asks for. A reading that throws costs its own gauges, not the scrape. */
    render: async (accept?: string): Promise<Exposition> => {
      for (const read of onScrape) {
        try {
          read();
        } catch {
          dropped();
        }
      }
      return exposition(withLabel(await registry.metrics(), 'pool', pool), accept);
    },
    close: (): void => {
      loop.stop();
      onScrape.clear();
    },
  };
}
