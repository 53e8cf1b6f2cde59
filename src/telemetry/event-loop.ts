/** How late the event loop runs. A delay histogram of Node's own, read and begun anew at each scrape. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

export type EventLoopLag = { readonly p50Seconds: number; readonly p99Seconds: number; readonly maxSeconds: number };

const RESOLUTION_MS = 10;

export function watchEventLoop(): { take(): EventLoopLag; stop(): void } {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  // The timer behind it counts its own period as delay; and before the first sample the maximum is 0, the rest NaN-like.
  const seconds = (nanoseconds: number) =>
    Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) / 1e3 : 0;
  return {
    take: () => {
      const lag = {
        p50Seconds: seconds(histogram.percentile(50)),
        p99Seconds: seconds(histogram.percentile(99)),
        maxSeconds: seconds(histogram.max),
      };
      histogram.reset();
      return lag;
    },
    stop: () => void histogram.disable(),
  };
}
