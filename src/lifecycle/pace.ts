/** How long things have been taking lately: what a drain may expect of the batches and commits that are left. */

/** An exponentially weighted mean: a change of pace shows after a few samples, one odd sample hardly. */
export class RunningAverage {
  #value: number | undefined;

  /** Undefined until something was measured. */
  get value(): number | undefined {
    return this.#value;
  }

  add(sample: number): void {
    if (!Number.isFinite(sample) || sample < 0) return;
    this.#value = this.#value === undefined ? sample : this.#value + WEIGHT * (sample - this.#value);
  }
}

const WEIGHT = 0.25;

export type Pace = {
  /** One call of the model server, with the time it waits there. */
  readonly batchMs: number | undefined;
  /** One write to the store. */
  readonly storeMs: number | undefined;
  /** One commit, until the broker has acknowledged it. */
  readonly commitMs: number | undefined;
};

export class PaceBoard {
  readonly batch = new RunningAverage();
  readonly store = new RunningAverage();
  readonly commit = new RunningAverage();

  get pace(): Pace {
    return { batchMs: this.batch.value, storeMs: this.store.value, commitMs: this.commit.value };
  }
}
