/** Why fetching is held back, counted by reason: the first `enter` of a reason pauses, the last `leave` resumes. */
export type HoldReason = 'engine' | 'sink' | 'dead-letters';

export type HoldActions = {
  pause(reason: HoldReason): void;
  resume(reason: HoldReason): void;
};

export class Holds {
  readonly #actions: HoldActions;
  readonly #counts = new Map<HoldReason, number>();

  constructor(actions: HoldActions) {
    this.#actions = actions;
  }

  get reasons(): readonly HoldReason[] {
    return [...this.#counts.keys()];
  }

  enter(reason: HoldReason): void {
    const count = this.#counts.get(reason) ?? 0;
    this.#counts.set(reason, count + 1);
    if (count === 0) this.#actions.pause(reason);
  }

  leave(reason: HoldReason): void {
    const count = (this.#counts.get(reason) ?? 0) - 1;
    if (count > 0) {
      this.#counts.set(reason, count);
    } else if (this.#counts.delete(reason)) {
      this.#actions.resume(reason);
    }
  }
}
