/**
 * Stands before the model server and the store: measures how long they take, and once a drain has begun holds back calls
 * whose result would not be stored in time. A held call waits for the drain to end, so its chunks stay uncommitted.
 *
 * When nothing runs any more but what is held, the rest of the time is good for nothing: `limit` says so, and the group is
 * left at once.
 */
import type { Clock } from '../../src/clock.ts';
import { fitsBefore } from '../../src/lifecycle/drain-budget.ts';
import type { PaceBoard } from '../../src/lifecycle/pace.ts';
import type { EmbedTransport } from '../../src/pipeline/transport.ts';
import type { Sink } from '../../src/sinks/sink.ts';

export type WorkInTimeOptions = {
  readonly clock: Clock;
  readonly board: PaceBoard;
  /** True while a failed write to the store, or the like, waits to be repeated. */
  readonly isRepeating: () => boolean;
};

/** A vector on its way from one stage to the next is in neither; it does not stay there for so long. */
const QUIET_MS = 200;

export class WorkInTime {
  readonly #options: WorkInTimeOptions;
  readonly #nothingLeft = new AbortController();
  #limitAt: (() => number) | undefined;
  #running = 0;
  #held = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(options: WorkInTimeOptions) {
    this.#options = options;
  }

  /** From now on nothing begins that would end after `limitAt`. The signal aborts when only such work is left. */
  limit(limitAt: () => number): AbortSignal {
    this.#limitAt = limitAt;
    return this.#nothingLeft.signal;
  }

  transport(inner: EmbedTransport): EmbedTransport {
    return {
      embed: async (texts, span, signal) => {
        if (this.#isTooLate()) await this.#hold(signal);
        return this.#measured(
          (ms) => this.#options.board.batch.add(ms),
          () => inner.embed(texts, span, signal),
        );
      },
    };
  }

  sink(inner: Sink): Sink {
    const { board } = this.#options;
    return {
      name: inner.name,
      open: (contract, signal) => inner.open(contract, signal),
      inspect: (signal) => inner.inspect(signal),
      write: (rows, signal) =>
        this.#measured(
          (ms) => board.store.add(ms),
          () => inner.write(rows, signal),
        ),
      remove: (deletions, signal) =>
        this.#measured(
          () => {},
          () => inner.remove(deletions, signal),
        ),
      ping: (signal) => inner.ping(signal),
      count: (signal) => inner.count(signal),
      search: (vector, wanted, signal) => inner.search(vector, wanted, signal),
      fetch: (chunkIds, signal) => inner.fetch(chunkIds, signal),
      close: () => inner.close(),
    };
  }

  #isTooLate(): boolean {
    const { clock, board } = this.#options;
    return this.#limitAt !== undefined && !fitsBefore(this.#limitAt(), clock.monotonicMs(), board.pace);
  }

  async #hold(signal: AbortSignal): Promise<never> {
    this.#held += 1;
    this.#lookAround();
    try {
      return await new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    } finally {
      this.#held -= 1;
    }
  }

  async #measured<T>(add: (tookMs: number) => void, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    this.#running += 1;
    try {
      const result = await work();
      add(clock.monotonicMs() - startedMs);
      return result;
    } finally {
      this.#running -= 1;
      this.#lookAround();
    }
  }

  #lookAround(): void {
    if (this.#held === 0 || this.#running > 0) return;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      if (this.#held === 0 || this.#running > 0) return;
      if (this.#options.isRepeating()) this.#lookAround();
      else this.#nothingLeft.abort(new Error('nothing that is left fits into the drain'));
    }, QUIET_MS).unref();
  }
}
