/**
 * Which slots are free, leased or quarantined. Pure: time is an argument.
 *
 * The surprising fact: a slot whose call ended without an answer is not free. A server does not stop a running request
 * at the client's deadline and may still write its output, into the batch of whoever got the slot next. No length of time
 * makes it free: a server can be slow, or frozen and thawed. See slot-pool.ts.
 */
import { ServingError } from '../errors.ts';

export type SlotCounts = { readonly free: number; readonly leased: number; readonly quarantined: number };

export class SlotLedger {
  // A stack: the slot that was given back last is the one whose lines are still in the cache.
  readonly #free: number[];
  readonly #leased = new Set<number>();
  readonly #quarantined = new Map<number, number>();

  constructor(slots: number) {
    this.#free = Array.from({ length: slots }, (_, index) => slots - 1 - index);
  }

  get counts(): SlotCounts {
    return { free: this.#free.length, leased: this.#leased.size, quarantined: this.#quarantined.size };
  }

  /** Since when the slot is quarantined that has been so for longest; undefined while none is. */
  get quarantinedSinceMs(): number | undefined {
    return this.#quarantined.size === 0 ? undefined : Math.min(...this.#quarantined.values());
  }

  take(): number | undefined {
    const slot = this.#free.pop();
    if (slot !== undefined) this.#leased.add(slot);
    return slot;
  }

  giveBack(slot: number): void {
    this.#endLease(slot);
    this.#free.push(slot);
  }

  quarantine(slot: number, nowMs: number): void {
    this.#endLease(slot);
    this.#quarantined.set(slot, nowMs);
  }

  /** Frees every quarantined slot; returns how many. */
  reclaim(): number {
    const count = this.#quarantined.size;
    this.#free.push(...this.#quarantined.keys());
    this.#quarantined.clear();
    return count;
  }

  #endLease(slot: number): void {
    if (!this.#leased.delete(slot)) throw new ServingError('INTERNAL', `slot ${slot} is given back and was not leased`);
  }
}
