/**
 * How late the event loop runs, over the last 30 to 60 seconds: Node's delay histogram in two windows, of which the older
 * one is let go when the younger is full; the worse of the two counts. Reading changes nothing, so that several readers see the same.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

export type EventLoopLag = { readonly p50Seconds: number; readonly p99Seconds: number; readonly maxSeconds: number };

const RESOLUTION_MS = 10;
const WINDOW_MS = 30_000;

export function watchEventLoop(): { read(): EventLoopLag; stop(): void } {
  let older: IntervalHistogram | undefined;
  let younger = begun();
  const turn = setInterval(() => {
    older?.disable();
    older = younger;
    older.disable();
    younger = begun();
  }, WINDOW_MS).unref();
  return {
    read: () => {
      const worst = (of: (window: IntervalHistogram) => number) => Math.max(of(younger), older ? of(older) : 0);
      return {
        p50Seconds: seconds(worst((window) => window.percentile(50))),
        p99Seconds: seconds(worst((window) => window.percentile(99))),
        maxSeconds: seconds(worst((window) => window.max)),
      };
    },
    stop: () => {
      clearInterval(turn);
      younger.disable();
    },
  };
}

function begun(): IntervalHistogram {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return histogram;
}

/** The timer behind it counts its own period as delay; and before the first sample the percentiles are no numbers. */
function seconds(nanoseconds: number): number {
  if (!Number.isFinite(nanoseconds)) return 0;
  return Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1e3;
}
