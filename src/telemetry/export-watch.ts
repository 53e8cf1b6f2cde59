/**
 * An exporter that says when spans do not arrive, and when they do again: one line at the first failure, one every ten minutes
 * while it lasts, one at its end. Of an error only its kind is told, for its message may quote an address or an answer.
 */
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { type Clock, systemClock } from '../clock.ts';
import type { Log } from './log.ts';

const AGAIN_MS = 600_000;

export class WatchedExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #log: Log;
  readonly #clock: Clock;
  #lost = 0;
  #toldAtMs: number | undefined;

  constructor(inner: SpanExporter, log: Log, clock: Clock = systemClock) {
    this.#inner = inner;
    this.#log = log;
    this.#clock = clock;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#inner.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.#arrived();
      else this.#failed(spans.length, result.error);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#inner.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }

  #arrived(): void {
    if (this.#toldAtMs === undefined) return;
    this.#log.info('traces: the collector takes spans again', { lost: this.#lost });
    this.#toldAtMs = undefined;
    this.#lost = 0;
  }

  #failed(spans: number, error: Error | undefined): void {
    this.#lost += spans;
    const nowMs = this.#clock.monotonicMs();
    if (this.#toldAtMs !== undefined && nowMs - this.#toldAtMs < AGAIN_MS) return;
    this.#toldAtMs = nowMs;
    this.#log.warn('traces: the collector does not take spans', { lost: this.#lost, reason: kindOf(error) });
  }
}

function kindOf(error: Error | undefined): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: string };
  return typeof code === 'string' || typeof code === 'number' ? String(code) : (name ?? 'unknown');
}
