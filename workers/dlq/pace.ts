/** How fast letters are replayed; pure. Time is an argument, in milliseconds of any clock that only goes forward. */

export class Pace {
  readonly #perSecond: number;
  #nextAtMs = Number.NEGATIVE_INFINITY;

  /** Infinity: as fast as it goes. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Most letters in one transaction, so that a low rate comes as a trickle and not as a burst now and then. */
  get burst(): number {
    return Math.max(1, Math.ceil(this.#perSecond / 5));
  }

  /** How long to wait before so many are sent; they count as sent then. */
  waitMs(letters: number, nowMs: number): number {
    const startMs = Math.max(nowMs, this.#nextAtMs);
    this.#nextAtMs = startMs + (letters * 1_000) / this.#perSecond;
    return startMs - nowMs;
  }
}
