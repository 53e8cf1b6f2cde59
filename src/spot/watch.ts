/**
 * Asks every lookout of a provider over and over and tells of each notice once, and again when its end has come nearer. A
 * server that is away or talks nonsense stops nothing: it is asked again at the usual pace, with one warning when the
 * trouble begins and one line when it is over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { asServingError } from '../errors.ts';
import { type SpotNotice, SpotNotices, type SpotReading } from '../lifecycle/spot-notice.ts';
import type { Log } from '../telemetry/log.ts';
import type { Lookout } from './lookout.ts';

export type SpotWatchOptions = {
  readonly lookouts: readonly Lookout[];
  readonly pollMs: number;
  readonly clock: Clock;
  readonly log: Log;
  onNotice(notice: SpotNotice, lookout: Lookout, news: 'new' | 'sooner'): void;
};

export class SpotWatch {
  readonly #options: SpotWatchOptions;
  readonly #notices = new SpotNotices();
  readonly #told = new Set<string>();
  readonly #abort = new AbortController();
  /** Resolves when each lookout has been asked once, whatever it said. */
  readonly looked: Promise<void>;

  constructor(options: SpotWatchOptions) {
    this.#options = options;
    const firsts = options.lookouts.map((lookout) => new Promise<void>((resolve) => void this.#run(lookout, resolve)));
    this.looked = Promise.all(firsts).then(() => undefined);
  }

  stop(): void {
    this.#abort.abort(new Error('the watch for notices has ended'));
  }

  async #run(lookout: Lookout, onLooked: () => void): Promise<void> {
    const { signal } = this.#abort;
    let failing = false;
    while (!signal.aborted) {
      try {
        for (const reading of await lookout.look(signal)) this.#take(reading, lookout);
        if (failing) this.#options.log.info('spot notices can be read again', { lookout: lookout.name });
        failing = false;
      } catch (thrown) {
        if (signal.aborted) break;
        const error = asServingError(thrown);
        const write = failing ? this.#options.log.debug : this.#options.log.warn;
        write.call(this.#options.log, 'spot notices cannot be read; asking again', { lookout: lookout.name, error });
        failing = true;
      }
      onLooked();
      // Also after a question that the server held: one that answers at once must not be asked in a circle.
      await sleep(this.#options.pollMs, undefined, { signal, ref: false }).catch(() => {});
    }
    onLooked();
  }

  #take(reading: SpotReading, lookout: Lookout): void {
    if (reading.kind === 'notice') {
      const news = this.#notices.take(reading.notice, this.#options.clock.monotonicMs());
      if (news !== 'known') this.#options.onNotice(reading.notice, lookout, news);
    } else if (reading.kind === 'unknown' && !this.#told.has(lookout.name)) {
      this.#told.add(lookout.name);
      this.#options.log.warn('a spot notice was not understood', { lookout: lookout.name, problem: reading.problem });
    }
  }
}
