/**
 * Which slots are free, leased or quarantined. Pure: time is an argument.
 *
 * The surprising fact: a slot whose call ended without an answer is not free. A server does not stop a running request
 * at the client's deadline and may still write its output, into the batch of whoever got the slot next. Such a slot
 * waits until the server can no longer write: see slot-pool.ts.
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

  /** When the first quarantine ends; undefined while there is none. */
  get dueAtMs(): number | undefined {
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

  quarantine(slot: number, untilMs: number): void {
    this.#endLease(slot);
    this.#quarantined.set(slot, untilMs);
  }

  /** Frees the slots whose quarantine is over; returns how many. */
  reclaimDue(nowMs: number): number {
    return this.#reclaim((untilMs) => untilMs <= nowMs);
  }

  /** Frees every quarantined slot; returns how many. */
  reclaimAll(): number {
    return this.#reclaim(() => true);
  }

  #reclaim(isOver: (untilMs: number) => boolean): number {
    const over = [...this.#quarantined].filter(([, untilMs]) => isOver(untilMs));
    for (const [slot] of over) {
      this.#quarantined.delete(slot);
      this.#free.push(slot);
    }
    return over.length;
  }

  #endLease(slot: number): void {
    if (!this.#leased.delete(slot)) throw new ServingError('INTERNAL', `slot ${slot} is given back and was not leased`);
  }
}
