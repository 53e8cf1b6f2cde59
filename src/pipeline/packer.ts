/**
 * Packer: closes batches by count, by bytes of the serialised texts, or by age. Pure: time is an argument, and
 * whoever owns the timer asks `dueAt`.
 */
export type PackLimits = {
  readonly maxItems: number;
  /** Serialised BYTES size of one batch: the input area of a slot. */
  readonly maxBytes: number;
  /** Longest time the oldest item of an open batch waits. */
  readonly maxWaitMs: number;
};

export type Packed<T> = {
  readonly items: readonly T[];
  readonly bytes: number;
  /** Of the longest item: the others are padded to it. */
  readonly longestBytes: number;
  readonly closedBy: 'items' | 'bytes' | 'wait' | 'flush';
};

type Entry<T> = { readonly item: T; readonly bytes: number };

export class Packer<T> {
  readonly #limits: PackLimits;
  #open: Entry<T>[] = [];
  #bytes = 0;
  #openedAt = 0;

  constructor(limits: PackLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.length;
  }

  /** When `closeIfDue` will close the open batch; undefined while nothing is open. */
  get dueAt(): number | undefined {
    return this.#open.length === 0 ? undefined : this.#openedAt + this.#limits.maxWaitMs;
  }

  /** Adds one item. An item that would overflow closes the batch before it. */
  add(item: T, bytes: number, now: number): Packed<T>[] {
    const closed: Packed<T>[] = [];
    // The first item always fits: whoever sizes the slots has made sure that one text does.
    if (this.#open.length > 0 && this.#bytes + bytes > this.#limits.maxBytes) closed.push(this.#close('bytes'));
    if (this.#open.length === 0) this.#openedAt = now;
    this.#open.push({ item, bytes });
    this.#bytes += bytes;
    if (this.#open.length >= this.#limits.maxItems) closed.push(this.#close('items'));
    return closed;
  }

  closeIfDue(now: number): Packed<T> | undefined {
    const dueAt = this.dueAt;
    return dueAt !== undefined && now >= dueAt ? this.#close('wait') : undefined;
  }

  flush(): Packed<T> | undefined {
    return this.#open.length === 0 ? undefined : this.#close('flush');
  }

  /** Takes out what matches: items of a partition that has left. */
  drop(matches: (item: T) => boolean): T[] {
    const dropped = this.#open.filter(({ item }) => matches(item));
    if (dropped.length === 0) return [];
    this.#open = this.#open.filter(({ item }) => !matches(item));
    this.#bytes = this.#open.reduce((sum, { bytes }) => sum + bytes, 0);
    return dropped.map(({ item }) => item);
  }

  #close(closedBy: Packed<T>['closedBy']): Packed<T> {
    const batch: Packed<T> = {
      items: this.#open.map(({ item }) => item),
      bytes: this.#bytes,
      longestBytes: this.#open.reduce((longest, { bytes }) => Math.max(longest, bytes), 0),
      closedBy,
    };
    this.#open = [];
    this.#bytes = 0;
    return batch;
  }
}
