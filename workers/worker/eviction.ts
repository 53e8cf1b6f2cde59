/** The watch for notices that this machine goes away, as the worker sees it: a reason to stop, and how long is left. */
import { systemClock } from '../../src/clock.ts';
import { type SpotConfig, spotSettings } from '../../src/config/sections/spot.ts';
import { asServingError } from '../../src/errors.ts';
import type { SpotNotice } from '../../src/lifecycle/spot-notice.ts';
import type { Lookout } from '../../src/spot/lookout.ts';
import { spotLookouts } from '../../src/spot/providers.ts';
import { SpotWatch } from '../../src/spot/watch.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';

export type Eviction = {
  /** Aborts at the first notice that is acted upon. */
  readonly noticed: AbortSignal;
  /** What a notice leaves from now on, in milliseconds; `leftMs` is undefined without one, or when it sets no end. */
  left(): { readonly leftMs: number | undefined; readonly marginMs: number };
  /** Called for each notice that is acted upon after the first, or whose end has come nearer. */
  onSooner(listener: () => void): void;
  /** Waits, not for long, until it is known whether a notice was there from the start. */
  looked(signal: AbortSignal): Promise<void>;
  /** Stops watching. After a drain that is complete the cloud is told, where that is wanted. Never rejects. */
  close(drained: boolean): Promise<void>;
};

const FIRST_LOOK_MS = 2_500;
const ACKNOWLEDGE_MS = 3_000;

const never: Eviction = {
  noticed: new AbortController().signal,
  left: () => ({ leftMs: undefined, marginMs: 0 }),
  onSooner: () => {},
  looked: async () => {},
  close: async () => {},
};

export function watchForEviction(config: SpotConfig, metrics: Metrics, log: Log): Eviction {
  if (config.provider === 'none') return never;
  const { provider, noticeMs, marginMs, pollMs } = config;
  const now = () => systemClock.monotonicMs();
  const first = new AbortController();
  const listeners: (() => void)[] = [];
  let endsAtMs: number | undefined;
  let acknowledge: ((signal: AbortSignal) => Promise<void>) | undefined;

  const onNotice = (notice: SpotNotice, lookout: Lookout, news: 'new' | 'sooner') => {
    const { kind, eventId } = notice;
    if (news === 'new') metrics.spotNotices.add({ provider, kind });
    const isActedUpon = kind === 'interruption' || config.earlyWarning === 'drain';
    // A warning that sets no end of its own is no reason to hurry.
    const leftMs = notice.leftMs ?? (kind === 'interruption' ? noticeMs : undefined);
    const fields = { provider, kind, leftMs: leftMs === undefined ? undefined : Math.round(leftMs) };
    if (!isActedUpon) {
      log.warn('this machine may be taken away; ignored', { ...fields, setting: spotSettings.earlyWarning.name });
      return;
    }
    log.warn('this machine will be taken away', fields);
    if (leftMs !== undefined) endsAtMs = Math.min(endsAtMs ?? Number.POSITIVE_INFINITY, now() + leftMs);
    if (eventId !== undefined && lookout.acknowledge !== undefined) {
      acknowledge = (signal) => lookout.acknowledge?.(eventId, signal) ?? Promise.resolve();
    }
    if (first.signal.aborted) for (const listener of listeners) listener();
    else first.abort(new Error('eviction notice'));
  };
  const lookouts = spotLookouts(config, systemClock);
  const watch = new SpotWatch({ lookouts, pollMs, clock: systemClock, log, onNotice });
  log.info('watching for notices of eviction', { provider });

  return {
    noticed: first.signal,
    left: () => ({ leftMs: endsAtMs === undefined ? undefined : Math.max(0, endsAtMs - now()), marginMs }),
    onSooner: (listener) => void listeners.push(listener),
    looked: async (signal) => {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(FIRST_LOOK_MS)]);
      if (limit.aborted) return;
      await Promise.race([watch.looked, new Promise((resolve) => limit.addEventListener('abort', resolve))]);
    },
    close: async (drained) => {
      watch.stop();
      if (!drained || !config.acknowledge || acknowledge === undefined) return;
      try {
        await acknowledge(AbortSignal.timeout(ACKNOWLEDGE_MS));
        log.info('the eviction was acknowledged', { provider });
      } catch (error) {
        log.warn('the eviction could not be acknowledged', { provider, error: asServingError(error) });
      }
    },
  };
}
