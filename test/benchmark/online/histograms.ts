/** Times as HDR histograms: what is quoted of them, and the whole of them for the file beside. */
import { build, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

/** Milliseconds. */
export type Quoted = {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
};

/** Of microseconds, with three digits. */
export function histogramOf(times: readonly Uint32Array[]): Histogram {
  const histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 120e6,
    numberOfSignificantValueDigits: 3,
  });
  for (const list of times) for (const value of list) histogram.recordValue(value);
  return histogram;
}

export function quoted(histogram: Histogram): Quoted {
  const at = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1_000;
  const { totalCount: count, maxValue } = histogram;
  return { count, p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: maxValue / 1_000 };
}

export function encoded(histogram: Histogram): string {
  return encodeIntoCompressedBase64(histogram);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
