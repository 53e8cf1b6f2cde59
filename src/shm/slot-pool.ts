/**
 * Leases of slots: who waits is served in the order of coming, and a lease ends exactly once.
 *
 * A lease ends with `release` when its call was answered, or with `quarantine` when it ended without an answer
 * (deadline, cancel, lost connection): the server may still write into the slot. A quarantine ends
 * - after `quarantineMs`, which must be longer than the server's longest run of a request, or
 * - by `reclaimQuarantined`, once nothing can write any more: the region was registered anew. That needs no restart to
 *   be safe, because a server refuses the name of a region that a running request still uses.
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
  /** Longer than the longest time a server may work on one request. */
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
  #timer: NodeJS.Timeout | undefined;
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
    this.#ledger.reclaimDue(this.#clock.monotonicMs());
    this.#serve();
    const slot = this.#ledger.take();
    return slot === undefined ? undefined : this.#lease(slot);
  }

  /** For a region that was registered anew: nothing writes into the old slots any more. Returns how many were freed. */
  reclaimQuarantined(): number {
    const freed = this.#ledger.reclaimAll();
    this.#serve();
    return freed;
  }

  /** Waiters are rejected; leases that are out may still end. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const waiter of this.#waiters) waiter.fail(closedError());
    this.#waiters.clear();
  }

  #wait(signal: AbortSignal): Promise<SlotLease> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter);
        reject(gaveUp(signal));
        this.#watchQuarantine();
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
      this.#watchQuarantine();
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
          this.#ledger.quarantine(slot, this.#clock.monotonicMs() + this.#options.quarantineMs);
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
    this.#watchQuarantine();
  }

  /** A timer is needed only while someone waits: without a waiter, the next `tryAcquire` looks at the clock itself. */
  #watchQuarantine(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const dueAtMs = this.#ledger.dueAtMs;
    if (this.#closed || this.#waiters.size === 0 || dueAtMs === undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#ledger.reclaimDue(this.#clock.monotonicMs());
        this.#serve();
      },
      Math.max(dueAtMs - this.#clock.monotonicMs(), 1),
    ).unref();
  }
}

function gaveUp(signal: AbortSignal): ServingError {
  return new ServingError('INFERENCE_CANCELLED', 'gave up waiting for a shared-memory slot', { cause: signal.reason });
}

function closedError(): ServingError {
  return new ServingError('INFERENCE_CANCELLED', 'the shared-memory slots are closed');
}
