/** What a row of a table of metrics holds, and the values that labels of several metrics have in common. Data only. */
import type { LabelRules } from './label-bounds.ts';

export const OTHER = 'other';

type Described<L extends LabelRules> = {
  /** Behind the prefix; the unit is its last word, or the one before `total`. */
  readonly name: string;
  /** What one of its value is: seconds, bytes, ratio, or the thing that is counted. */
  readonly unit: string;
  readonly help: string;
  readonly labels: L;
};

export type CounterSpec<L extends LabelRules = LabelRules> = Described<L> & { readonly type: 'counter' };
export type GaugeSpec<L extends LabelRules = LabelRules> = Described<L> & { readonly type: 'gauge' };
export type HistogramSpec<L extends LabelRules = LabelRules> = Described<L> & {
  readonly type: 'histogram';
  readonly buckets: readonly number[];
};
export type MetricSpec = CounterSpec | GaugeSpec | HistogramSpec;

export const PREFIX = 'rag_serving_';

export const grpcCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;
export type GrpcCode = (typeof grpcCodes)[number];
