/**
 * Leases of slots: who waits is served in the order of coming, and a lease ends exactly once.
 *
 * A lease ends with `release` when its call was answered, or with `quarantine` when it ended without an answer
 * (deadline, cancel, lost connection): the server may still write into the slot. Only the server can say when it will not
 * any more, and it says so by registering the region anew: one that was restarted has lost its mappings, one that was not
 * refuses the name of a region that a running request still uses. So quarantined slots come back by `reclaimQuarantined`,
 * never by time; time only says when it is worth asking (`wantsRegistration`).
 */
import { type Clock, systemClock } from '../clock.ts';
import { ServingError } from '../errors.ts';
import { type SlotCounts, SlotLedger } from './slot-ledger.ts';

export type QuarantineReason = 'deadline' | 'cancelled' | 'disconnected';

/** Ends exactly once: each method returns false, and does nothing, when the lease has ended before. */
export type SlotLease = {
  readonly index: number;
  release(): boolean;
  quarantine(reason: QuarantineReason): boolean;
};

export type SlotPoolOptions = {
  readonly slots: number;
  /** How long a slot rests before the region should be registered anew for its sake, while other slots still work. */
  readonly quarantineMs: number;
  readonly clock?: Clock;
  readonly onQuarantine?: (slot: number, reason: QuarantineReason) => void;
};

type Waiter = { readonly give: (lease: SlotLease) => void; readonly fail: (error: ServingError) => void };

export class SlotPool {
  readonly #ledger: SlotLedger;
  readonly #options: SlotPoolOptions;
  readonly #clock: Clock;
  // A Set keeps the order of coming, and a waiter that gives up leaves it without a search.
  readonly #waiters = new Set<Waiter>();
  #closed = false;

  constructor(options: SlotPoolOptions) {
    this.#ledger = new SlotLedger(options.slots);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get counts(): SlotCounts {
    return this.#ledger.counts;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** True when nothing works any more for quarantined slots, or one has rested for long: register the region anew. */
  get wantsRegistration(): boolean {
    const sinceMs = this.#ledger.quarantinedSinceMs;
    if (sinceMs === undefined) return false;
    const { free, leased } = this.#ledger.counts;
    return free + leased === 0 || this.#clock.monotonicMs() - sinceMs >= this.#options.quarantineMs;
  }

  /** Waits for a slot. Rejects with INFERENCE_CANCELLED when the signal fires first or the pool closes. */
  async acquire(signal: AbortSignal): Promise<SlotLease> {
    const lease = this.tryAcquire();
    if (lease !== undefined && !signal.aborted) return lease;
    lease?.release();
    if (signal.aborted) throw gaveUp(signal);
    return await this.#wait(signal);
  }

  /** A free slot, or undefined when there is none, also while others wait. Throws when the pool is closed. */
  tryAcquire(): SlotLease | undefined {
    if (this.#closed) throw closedError();
    const slot = this.#ledger.take();
    return slot === undefined ? undefined : this.#lease(slot);
  }

  /** For a region that was registered anew: nothing writes into the old slots any more. Returns how many were freed. */
  reclaimQuarantined(): number {
    const freed = this.#ledger.reclaim();
    this.#serve();
    return freed;
  }

  /** Waiters are rejected; leases that are out may still end. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.fail(closedError());
    this.#waiters.clear();
  }

  #wait(signal: AbortSignal): Promise<SlotLease> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter);
        reject(gaveUp(signal));
      };
      const stay = (): void => signal.removeEventListener('abort', leave);
      const waiter: Waiter = {
        give: (lease) => {
          stay();
          resolve(lease);
        },
        fail: (error) => {
          stay();
          reject(error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiters.add(waiter);
    });
  }

  #lease(slot: number): SlotLease {
    let ended = false;
    const endOnce = (end: () => void): boolean => {
      if (ended) return false;
      ended = true;
      end();
      this.#serve();
      return true;
    };
    return {
      index: slot,
      release: () => endOnce(() => this.#ledger.giveBack(slot)),
      quarantine: (reason) =>
        endOnce(() => {
          this.#ledger.quarantine(slot, this.#clock.monotonicMs());
          this.#options.onQuarantine?.(slot, reason);
        }),
    };
  }

  #serve(): void {
    for (const waiter of this.#waiters) {
      const slot = this.#ledger.take();
      if (slot === undefined) break;
      this.#waiters.delete(waiter);
      waiter.give(this.#lease(slot));
    }
  }
}

function gaveUp(signal: AbortSignal): ServingError {
  return new ServingError('INFERENCE_CANCELLED', 'gave up waiting for a shared-memory slot', { cause: signal.reason });
}

function closedError(): ServingError {
  return new ServingError('INFERENCE_CANCELLED', 'the shared-memory slots are closed');
}
