/** A watch on a local metadata server, what it told, and what it logged. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/clock.ts';
import type { SpotNotice } from '../../../src/lifecycle/spot-notice.ts';
import { type SpotPlace, spotLookouts } from '../../../src/spot/providers.ts';
import { SpotWatch } from '../../../src/spot/watch.ts';
import type { Log, LogFields } from '../../../src/telemetry/log.ts';

export const POLL_MS = 20;

export type Watched = {
  readonly watch: SpotWatch;
  readonly notices: { readonly notice: SpotNotice; readonly news: 'new' | 'sooner' }[];
  readonly lines: { readonly level: string; readonly message: string; readonly fields: LogFields }[];
  at(level: string): readonly string[];
};

const open = new Set<SpotWatch>();

export function watchAt(place: SpotPlace): Watched {
  const notices: Watched['notices'] = [];
  const lines: Watched['lines'] = [];
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  };
  const watch = new SpotWatch({
    lookouts: spotLookouts(place, systemClock),
    pollMs: POLL_MS,
    clock: systemClock,
    log,
    onNotice: (notice, _lookout, news) => notices.push({ notice, news }),
  });
  open.add(watch);
  const at = (level: string) => lines.filter((line) => line.level === level).map(({ message }) => message);
  return { watch, notices, lines, at };
}

/** For `afterEach`. */
export function endWatches(): void {
  for (const watch of open) watch.stop();
  open.clear();
}

export async function until(what: string, holds: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; !holds(); await sleep(5)) {
    if (Date.now() > deadline) throw new Error(`not within 10 s: ${what}`);
  }
}
