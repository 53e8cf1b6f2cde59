/**
 * Offset ledger: which offsets of ONE partition, in ONE assignment epoch, are done.
 *
 * Pure bookkeeping: no clock, no client, no logging. Whoever commits asks `commitPoint` and does the I/O. Only offsets
 * that were received are tracked, so gaps from compaction or transactions need no special case. Surprising: the ledger
 * outlives a rebalance that leaves the partition here, because the broker then delivers everything after the commit
 * again; `track` answers `known` for what is in flight or done already.
 */
import { ServingError } from '../errors.ts';

export type Tracked = 'new' | 'known';

/** Settled entries before the head are dropped in blocks: an amortised constant cost a completion. */
const COMPACT_AT = 1_024;

export class OffsetLedger {
  /** Ascending. Entries before `#head` are done and counted in `#commitPoint`. */
  #offsets: bigint[] = [];
  #done: boolean[] = [];
  #head = 0;
  #open = 0;
  #commitPoint: bigint;
  #position: bigint;

  /** `start`: the offset that reading begins at. */
  constructor(start: bigint) {
    this.#commitPoint = start;
    this.#position = start;
  }

  /** Next offset to read after a crash: everything before it is done. */
  get commitPoint(): bigint {
    return this.#commitPoint;
  }

  /** Next offset this ledger has not seen. */
  get position(): bigint {
    return this.#position;
  }

  /** Offsets that are tracked and not done. */
  get open(): number {
    return this.#open;
  }

  isKnown(offset: bigint): boolean {
    if (offset < this.#commitPoint) return true;
    if (offset >= this.#position) return false;
    return this.#offsets[this.#find(offset)] === offset;
  }

  /** Takes an offset that was received; `known` means it is in flight or done, and must not be processed again. */
  track(offset: bigint): Tracked {
    if (this.isKnown(offset)) return 'known';
    this.#insert(offset, false);
    this.#open += 1;
    return 'new';
  }

  /** The reader has passed everything up to `offset`, which holds no data itself: a transaction marker, an aborted record. */
  sawEnd(offset: bigint): void {
    if (offset < this.#position) return;
    this.#insert(offset, true);
    this.#advance();
  }

  /** Marks a tracked offset; marking it again changes nothing. */
  markDone(offset: bigint): void {
    if (offset < this.#commitPoint) return;
    const index = this.#find(offset);
    if (this.#offsets[index] !== offset) {
      throw new ServingError(
        'LEDGER_MISUSE',
        `offset ${offset} was never tracked; the commit point is ${this.#commitPoint}`,
      );
    }
    if (this.#done[index] === true) return;
    this.#done[index] = true;
    this.#open -= 1;
    this.#advance();
  }

  /** Someone else committed up to `offset`: what lies before it is no longer ours to hold open. */
  skipTo(offset: bigint): void {
    if (offset <= this.#commitPoint) return;
    while (this.#head < this.#offsets.length && this.#offsets[this.#head]! < offset) {
      if (this.#done[this.#head] !== true) this.#open -= 1;
      this.#head += 1;
    }
    this.#commitPoint = offset;
    if (offset > this.#position) this.#position = offset;
    this.#advance();
  }

  // Moves over DONE entries only. Advancing to "highest seen" would commit records that were polled and never
  // processed when a rebalance lands in between.
  #advance(): void {
    while (this.#head < this.#offsets.length && this.#done[this.#head] === true) {
      this.#commitPoint = this.#offsets[this.#head]! + 1n;
      this.#head += 1;
    }
    if (this.#head >= COMPACT_AT && this.#head * 2 >= this.#offsets.length) {
      this.#offsets = this.#offsets.slice(this.#head);
      this.#done = this.#done.slice(this.#head);
      this.#head = 0;
    }
  }

  #insert(offset: bigint, done: boolean): void {
    if (offset >= this.#position) {
      this.#offsets.push(offset);
      this.#done.push(done);
      this.#position = offset + 1n;
      return;
    }
    // An offset inside a gap: rare enough for the copy that splice makes.
    const index = this.#find(offset);
    this.#offsets.splice(index, 0, offset);
    this.#done.splice(index, 0, done);
  }

  /** Index of the first entry ≥ offset, at or after the head. */
  #find(offset: bigint): number {
    let low = this.#head;
    let high = this.#offsets.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#offsets[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
