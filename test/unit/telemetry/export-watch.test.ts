/** A collector that goes away and comes back, and what of it is logged. The exporter is a stand-in that does as it is told. */
import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';
import { WatchedExporter } from '../../../src/telemetry/export-watch.ts';
import { type Log, silentLog } from '../../../src/telemetry/log.ts';

function watched() {
  const lines: [string, unknown][] = [];
  const note = (message: string, fields?: unknown) => void lines.push([message, fields]);
  const log: Log = { ...silentLog, info: note, warn: note };
  let nowMs = 0;
  let error: Error | undefined;
  const inner: SpanExporter = {
    export: (_, done) =>
      done(error === undefined ? { code: ExportResultCode.SUCCESS } : { code: ExportResultCode.FAILED, error }),
    shutdown: async () => {},
  };
  const exporter = new WatchedExporter(inner, log, { monotonicMs: () => nowMs, wallMs: () => 0 });
  const send = (spans: number, failure?: Error) => {
    error = failure;
    let code: number | undefined;
    exporter.export(Array<ReadableSpan>(spans), (result) => (code = result.code));
    return code;
  };
  return { lines, send, pass: (ms: number) => (nowMs += ms) };
}

it('one line at the first failure, one every ten minutes, one at the end; never what the error says', () => {
  const { lines, send, pass } = watched();
  const refused = Object.assign(new Error('connect to secret.example failed'), { code: 'ECONNREFUSED' });
  expect(send(1)).toBe(ExportResultCode.SUCCESS);
  for (let minute = 0; minute < 25; minute++) {
    expect(send(100, refused)).toBe(ExportResultCode.FAILED);
    pass(60_000);
  }
  send(5);
  send(5);
  send(1, new TypeError('secret'));
  expect(lines).toEqual([
    ['traces: the collector does not take spans', { lost: 100, reason: 'ECONNREFUSED' }],
    ['traces: the collector does not take spans', { lost: 1_100, reason: 'ECONNREFUSED' }],
    ['traces: the collector does not take spans', { lost: 2_100, reason: 'ECONNREFUSED' }],
    ['traces: the collector takes spans again', { lost: 2_500 }],
    ['traces: the collector does not take spans', { lost: 1, reason: 'TypeError' }],
  ]);
});
