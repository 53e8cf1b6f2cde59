/**
 * Typed handles over prom-client, made from the rows of a table, with two promises: no NaN, infinity or undefined reaches
 * a series, and a label takes only so many values. Whatever breaks a promise is counted or folded into `other`, never
 * thrown: counting must not stop the work that is counted.
 *
 * Counters with few combinations of labels begin at 0: Prometheus sees no increase in a series whose first value is 1.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { allCombinations, LabelBounds, type LabelRules, type LabelValues } from './label-bounds.ts';
import { type CounterSpec, type GaugeSpec, type HistogramSpec, type MetricSpec, PREFIX } from './metric-spec.ts';

export type CounterHandle<L extends LabelRules> = { add(labels: LabelValues<L>, by?: number): void };
export type GaugeHandle<L extends LabelRules> = {
  set(labels: LabelValues<L>, value: number): void;
  add(labels: LabelValues<L>, by: number): void;
  /** Takes away every series, so that what is gone (a partition) is no longer shown. */
  clear(): void;
};
export type HistogramHandle<L extends LabelRules> = { observe(labels: LabelValues<L>, value: number): void };

type HandleOf<S extends MetricSpec> = S extends { readonly type: 'counter' }
  ? CounterHandle<S['labels']>
  : S extends { readonly type: 'gauge' }
    ? GaugeHandle<S['labels']>
    : HistogramHandle<S['labels']>;

export type Handles<T extends Record<string, MetricSpec>> = { readonly [K in keyof T]: HandleOf<T[K]> };

/** More series than this are not begun at 0. */
const MOST_BEGUN = 128;

/** `onDropped` is told when a value was not a usable number. */
export function createSeries<T extends Record<string, MetricSpec>>(
  table: T,
  registry: Registry,
  onDropped: () => void,
): Handles<T> {
  const entries = Object.entries(table).map(([key, spec]) => [key, handle(spec, registry, onDropped)]);
  return Object.fromEntries(entries) as Handles<T>;
}

function handle(spec: MetricSpec, registry: Registry, onDropped: () => void) {
  switch (spec.type) {
    case 'counter':
      return counter(spec, registry, onDropped);
    case 'gauge':
      return gauge(spec, registry, onDropped);
    case 'histogram':
      return histogram(spec, registry, onDropped);
  }
}

function counter<L extends LabelRules>(
  spec: CounterSpec<L>,
  registry: Registry,
  onDropped: () => void,
): CounterHandle<L> {
  const bounds = new LabelBounds(spec.labels);
  const found = existing(spec, registry, Counter);
  const series = found ?? new Counter(common(spec, registry));
  if (found === undefined) {
    for (const labels of allCombinations(spec.labels, MOST_BEGUN) ?? []) series.inc(labels, 0);
  }
  return {
    add: (labels, by = 1) => {
      if (Number.isFinite(by) && by >= 0) series.inc(bounds.bounded(labels), by);
      else onDropped();
    },
  };
}

function gauge<L extends LabelRules>(spec: GaugeSpec<L>, registry: Registry, onDropped: () => void): GaugeHandle<L> {
  const bounds = new LabelBounds(spec.labels);
  const isBare = Object.keys(spec.labels).length === 0;
  // Without `removed` a gauge without labels says 0 before anything is known of it.
  const series = existing(spec, registry, Gauge) ?? removed(new Gauge(common(spec, registry)), isBare);
  return {
    set: (labels, value) => {
      if (Number.isFinite(value)) series.set(bounds.bounded(labels), value);
      else onDropped();
    },
    add: (labels, by) => {
      if (Number.isFinite(by)) series.inc(bounds.bounded(labels), by);
      else onDropped();
    },
    clear: () => {
      removed(series, isBare);
      bounds.forget();
    },
  };
}

/** One without labels is back at 0 after a reset. */
function removed(series: Gauge, isBare: boolean): Gauge {
  series.reset();
  if (isBare) series.remove();
  return series;
}

function histogram<L extends LabelRules>(
  spec: HistogramSpec<L>,
  registry: Registry,
  onDropped: () => void,
): HistogramHandle<L> {
  const bounds = new LabelBounds(spec.labels);
  const series =
    existing(spec, registry, Histogram) ?? new Histogram({ ...common(spec, registry), buckets: [...spec.buckets] });
  return {
    observe: (labels, value) => {
      if (Number.isFinite(value)) series.observe(bounds.bounded(labels), value);
      else onDropped();
    },
  };
}

/** A registry of the host's may serve several instances of ours: they count in the same series. */
function existing<T>({ name }: MetricSpec, registry: Registry, kind: new (...args: never[]) => T): T | undefined {
  const found: unknown = registry.getSingleMetric(PREFIX + name);
  return found instanceof kind ? found : undefined;
}

function common({ name, help, labels }: MetricSpec, registry: Registry) {
  return { name: PREFIX + name, help, labelNames: Object.keys(labels), registers: [registry] };
}
