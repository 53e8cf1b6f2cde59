/**
 * Typed handles over prom-client with two promises: no NaN, infinity or undefined reaches a series, and a label takes
 * only so many values. Whatever breaks a promise is counted or folded into `other`, never thrown: counting must not
 * stop the work that is counted.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** A closed list of values, or a number of distinct ones, after which new ones are called `other`. */
export type LabelRule<V extends string = string> = readonly V[] | { readonly atMost: number };
export type LabelRules = Readonly<Record<string, LabelRule>>;
export type LabelValues<L extends LabelRules> = {
  readonly [K in keyof L]: L[K] extends readonly (infer V extends string)[] ? V : string;
};
export type NoLabels = Readonly<Record<string, never>>;

export type CounterHandle<L extends LabelRules> = { add(labels: LabelValues<L>, by?: number): void };
export type GaugeHandle<L extends LabelRules> = {
  set(labels: LabelValues<L>, value: number): void;
  add(labels: LabelValues<L>, by: number): void;
  /** Takes away every series, so that what is gone (a partition) is no longer shown. */
  clear(): void;
};
export type HistogramHandle<L extends LabelRules> = { observe(labels: LabelValues<L>, value: number): void };

export const OTHER = 'other';

export type SeriesOptions<L extends LabelRules> = {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labels: L;
  /** Told when a value was not a usable number. */
  readonly onDropped: () => void;
};

export function counter<L extends LabelRules>(options: SeriesOptions<L>): CounterHandle<L> {
  const bound = bounder(options.labels);
  const series = existing(options, Counter) ?? new Counter(common(options));
  return {
    add: (labels, by = 1) => {
      if (Number.isFinite(by) && by >= 0) series.inc(bound(labels), by);
      else options.onDropped();
    },
  };
}

export function gauge<L extends LabelRules>(options: SeriesOptions<L>): GaugeHandle<L> {
  const bound = bounder(options.labels);
  const series = existing(options, Gauge) ?? new Gauge(common(options));
  return {
    set: (labels, value) => {
      if (Number.isFinite(value)) series.set(bound(labels), value);
      else options.onDropped();
    },
    add: (labels, by) => {
      if (Number.isFinite(by)) series.inc(bound(labels), by);
      else options.onDropped();
    },
    clear: () => series.reset(),
  };
}

export function histogram<L extends LabelRules>(
  options: SeriesOptions<L> & { readonly buckets: readonly number[] },
): HistogramHandle<L> {
  const bound = bounder(options.labels);
  const series = existing(options, Histogram) ?? new Histogram({ ...common(options), buckets: [...options.buckets] });
  return {
    observe: (labels, value) => {
      if (Number.isFinite(value)) series.observe(bound(labels), value);
      else options.onDropped();
    },
  };
}

/** A registry of the host's may serve several instances of ours: they count in the same series. */
function existing<T>({ registry, name }: { registry: Registry; name: string }, kind: new (...args: never[]) => T) {
  const found: unknown = registry.getSingleMetric(name);
  return found instanceof kind ? found : undefined;
}

function common<L extends LabelRules>({ registry, name, help, labels }: SeriesOptions<L>) {
  return { name, help, labelNames: Object.keys(labels), registers: [registry] };
}

function bounder<L extends LabelRules>(rules: L): (labels: LabelValues<L>) => Record<string, string> {
  const each = Object.entries(rules).map(([name, rule]) => ({ name, allow: allowance(rule) }));
  return (labels) => {
    const bounded: Record<string, string> = {};
    for (const { name, allow } of each) {
      const value: unknown = (labels as Record<string, unknown>)[name];
      bounded[name] = typeof value === 'string' && allow(value) ? value : OTHER;
    }
    return bounded;
  };
}

function allowance(rule: LabelRule): (value: string) => boolean {
  if (!('atMost' in rule)) {
    const closed = new Set<string>(rule);
    return (value) => closed.has(value);
  }
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return true;
    if (seen.size >= rule.atMost || value.length > 128) return false;
    seen.add(value);
    return true;
  };
}
