/** Counters of one model, in the terms of Triton's statistics extension and its nv_inference_* metrics. */
import type { FailureReason } from './wire-fault.ts';

export type Tally = { count: number; ns: number };
export type BatchTally = { executions: number; inferNs: number };

const NS_PER_MS = 1_000_000;

export class ModelStatistics {
  readonly success: Tally = { count: 0, ns: 0 };
  readonly fail: Tally = { count: 0, ns: 0 };
  readonly queue: Tally = { count: 0, ns: 0 };
  readonly computeInput: Tally = { count: 0, ns: 0 };
  readonly computeInfer: Tally = { count: 0, ns: 0 };
  readonly computeOutput: Tally = { count: 0, ns: 0 };
  readonly failures: Record<FailureReason, number> = { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 };
  /** By rows of an execution. */
  readonly batches = new Map<number, BatchTally>();
  /** Rows that were given an answer. */
  inferences = 0;
  executions = 0;
  /** Milliseconds since the Unix epoch. */
  lastInferenceMs = 0;

  recordExecution(rows: number, durationMs: number, wallMs: number): void {
    this.executions++;
    this.lastInferenceMs = wallMs;
    const batch = this.batches.get(rows) ?? { executions: 0, inferNs: 0 };
    batch.executions++;
    batch.inferNs += ns(durationMs);
    this.batches.set(rows, batch);
  }

  recordSuccess(rows: number, times: RequestTimes): void {
    this.inferences += rows;
    add(this.success, times.inputMs + times.queueMs + times.inferMs + times.outputMs);
    add(this.queue, times.queueMs);
    add(this.computeInput, times.inputMs);
    add(this.computeInfer, times.inferMs);
    add(this.computeOutput, times.outputMs);
  }

  recordFailure(reason: FailureReason, durationMs: number): void {
    this.failures[reason]++;
    add(this.fail, durationMs);
  }
}

/** Where the time of one request went. */
export type RequestTimes = {
  readonly inputMs: number;
  readonly queueMs: number;
  readonly inferMs: number;
  readonly outputMs: number;
};

function add(tally: Tally, ms: number): void {
  tally.count++;
  tally.ns += ns(ms);
}

function ns(ms: number): number {
  return Math.max(0, Math.round(ms * NS_PER_MS));
}
