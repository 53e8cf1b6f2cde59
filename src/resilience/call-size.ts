/**
 * How many rows one call asks for, so that its answer comes before its deadline. Pure: whoever calls brings the times.
 *
 * A server that needs longer for a call than the call may take is asked in vain however often: every answer comes too late
 * and is thrown away. So a missed deadline halves what is asked, and an early answer doubles it again, up to the limit.
 * Between the two nothing changes, or the size would swing between too much and too little for ever.
 */
export class CallSize {
  readonly #limit: number;
  #rows: number;

  constructor(limit: number) {
    this.#limit = limit;
    this.#rows = limit;
  }

  /** Most rows of the next call. */
  get rows(): number {
    return this.#rows;
  }

  /** @param begunWith `rows` when the call began: calls that miss their deadline side by side so count once */
  missed(begunWith: number): void {
    this.#rows = Math.max(1, Math.min(this.#rows, Math.floor(begunWith / 2)));
  }

  /**
   * @param asked rows of the call; fewer than it might have asked for say nothing
   * @param share of its time that the call took; doubled, it must stay far below 1
   */
  answered(begunWith: number, asked: number, share: number): void {
    if (asked < begunWith || share > EARLY_SHARE) return;
    this.#rows = Math.max(this.#rows, Math.min(this.#limit, begunWith * 2));
  }
}

const EARLY_SHARE = 0.25;
