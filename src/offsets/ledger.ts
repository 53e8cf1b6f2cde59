/**
 * Offset ledger: which offsets of ONE partition, in ONE assignment epoch, are done.
 *
 * Pure bookkeeping: no clock, no client, no logging. Whoever commits asks `commitPoint` and does the I/O. Only what is open
 * is remembered by itself: batches are taken without a break, so what lies before the position and is not open is either
 * done or does not exist (compaction, transaction markers), and gaps need no special case. Surprising: the ledger outlives
 * a rebalance that leaves the partition here, because the broker then delivers everything after the commit again; `track`
 * answers `known` for what is in flight or done already.
 */
import { ServingError } from '../errors.ts';
import { type OffsetRange, rangesFrom } from './offset-range.ts';

export type Tracked = 'new' | 'known';

/** Done entries are dropped in blocks: an amortised constant cost a completion. */
const COMPACT_AT = 1_024;

export class OffsetLedger {
  /** Ascending. Open ones, and done ones that have not been dropped yet; before `#head` all are done. */
  #offsets: bigint[] = [];
  #done: boolean[] = [];
  #head = 0;
  #open = 0;
  #position: bigint;
  /** Done by a former owner and not read here yet: ascending, all beyond the position. */
  #restored: readonly OffsetRange[] = [];
  #changes = 0;

  /** `start`: the offset that reading begins at. */
  constructor(start: bigint) {
    this.#position = start;
  }

  /** Next offset to read after a crash: everything before it is done. */
  get commitPoint(): bigint {
    return this.#offsets[this.#head] ?? this.#position;
  }

  /** Next offset this ledger has not seen. */
  get position(): bigint {
    return this.#position;
  }

  /** Offsets that are tracked and not done. */
  get open(): number {
    return this.#open;
  }

  /** Grows whenever `commitPoint` or `doneBeyond` may have changed. */
  get changes(): number {
    return this.#changes;
  }

  /** First offset beyond everything that is done. */
  get doneEnd(): bigint {
    return this.#restored.at(-1)?.end ?? this.#position;
  }

  isKnown(offset: bigint): boolean {
    if (offset < this.#position) return true;
    const next = this.#restored.find(({ end }) => offset < end);
    return next !== undefined && next.start <= offset;
  }

  /** Whether it was received and is not done. */
  isOpen(offset: bigint): boolean {
    const index = this.#find(offset);
    return this.#offsets[index] === offset && this.#done[index] !== true;
  }

  /** Takes an offset that was received; `known` means it is in flight or done, and must not be processed again. */
  track(offset: bigint): Tracked {
    if (this.isKnown(offset)) return 'known';
    this.#changes += 1;
    this.#offsets.push(offset);
    this.#done.push(false);
    this.#open += 1;
    this.#moveTo(offset + 1n);
    return 'new';
  }

  /** The reader has passed everything up to `offset`, which holds no data itself: a transaction marker, an aborted record. */
  sawEnd(offset: bigint): void {
    if (offset < this.#position) return;
    this.#changes += 1;
    this.#moveTo(offset + 1n);
  }

  /** Marks a tracked offset; marking it again changes nothing. */
  markDone(offset: bigint): void {
    if (offset >= this.#position) {
      throw new ServingError(
        'LEDGER_MISUSE',
        `offset ${offset} was never tracked; the next one to be read is ${this.#position}`,
      );
    }
    const index = this.#find(offset);
    if (this.#offsets[index] !== offset || this.#done[index] === true) return;
    this.#done[index] = true;
    this.#open -= 1;
    this.#changes += 1;
    this.#advance();
  }

  /** Someone else committed up to `offset`: what lies before it is no longer ours to hold open. */
  skipTo(offset: bigint): void {
    while (this.#head < this.#offsets.length && this.#offsets[this.#head]! < offset) {
      if (this.#done[this.#head] !== true) this.#open -= 1;
      this.#head += 1;
    }
    this.#changes += 1;
    if (offset > this.#position) this.#moveTo(offset);
    this.#advance();
  }

  /** Takes over what a former owner has done. What was read here already is as it is. */
  restore(done: readonly OffsetRange[]): void {
    this.#changes += 1;
    this.#restored = rangesFrom(this.#position, done);
    this.#moveTo(this.#position);
  }

  /** Everything that is done beyond the commit point, offsets that do not exist included. */
  doneBeyond(): OffsetRange[] {
    const ranges: OffsetRange[] = [];
    let start = this.commitPoint;
    for (let index = this.#head; index < this.#offsets.length; index++) {
      if (this.#done[index] === true) continue;
      const open = this.#offsets[index]!;
      if (open > start) ranges.push({ start, end: open });
      start = open + 1n;
    }
    if (this.#open > 0 && this.#position > start) ranges.push({ start, end: this.#position });
    ranges.push(...this.#restored);
    return ranges;
  }

  /** The position also passes what a former owner has done right behind it. */
  #moveTo(position: bigint): void {
    this.#position = position;
    let passed = 0;
    for (const { start, end } of this.#restored) {
      if (start > this.#position) break;
      if (end > this.#position) this.#position = end;
      passed += 1;
    }
    if (passed > 0) this.#restored = this.#restored.slice(passed);
  }

  // Moves over DONE entries only. Advancing to "highest seen" would commit records that were polled and never
  // processed when a rebalance lands in between.
  #advance(): void {
    while (this.#head < this.#offsets.length && this.#done[this.#head] === true) this.#head += 1;
    const kept = this.#offsets.length;
    if (kept < COMPACT_AT || this.#open * 2 > kept) return;
    this.#offsets = this.#offsets.filter((_, index) => index >= this.#head && this.#done[index] !== true);
    this.#done = this.#offsets.map(() => false);
    this.#head = 0;
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
