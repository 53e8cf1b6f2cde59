/** Why fetching is held back, counted by reason: the first holder of a reason pauses, the last that leaves resumes. */
export type HoldReason = 'engine' | 'sink' | 'dead-letters' | 'retries';

export type HoldActions = {
  pause(reason: HoldReason): void;
  resume(reason: HoldReason): void;
};

/** One holder's part in a reason: entered and left as often as it likes, counted once. */
export type Hold = { enter(): void; leave(): void };

export class Holds {
  readonly #actions: HoldActions;
  readonly #counts = new Map<HoldReason, number>();

  constructor(actions: HoldActions) {
    this.#actions = actions;
  }

  get reasons(): readonly HoldReason[] {
    return [...this.#counts.keys()];
  }

  hold(reason: HoldReason): Hold {
    let held = false;
    const turn = (on: boolean, apply: (reason: HoldReason) => void) => {
      if (held === on) return;
      held = on;
      apply(reason);
    };
    return {
      enter: () => turn(true, (why) => this.#enter(why)),
      leave: () => turn(false, (why) => this.#leave(why)),
    };
  }

  #enter(reason: HoldReason): void {
    const count = this.#counts.get(reason) ?? 0;
    this.#counts.set(reason, count + 1);
    if (count === 0) this.#actions.pause(reason);
  }

  #leave(reason: HoldReason): void {
    const count = (this.#counts.get(reason) ?? 0) - 1;
    if (count > 0) {
      this.#counts.set(reason, count);
    } else if (this.#counts.delete(reason)) {
      this.#actions.resume(reason);
    }
  }
}
