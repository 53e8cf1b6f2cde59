/**
 * Order gate: two records about the same chunk are never on their way at the same time, and a document's deletion
 * waits for the document's chunks and holds back those that follow it. Pure bookkeeping, no timers.
 *
 * A record takes its document's lock (shared for a chunk, exclusive for a document deletion) and then its chunk's
 * lock (always exclusive). Every record takes them in that order, so nothing can deadlock.
 */

export type OrderKeys = {
  readonly chunkId: string | undefined;
  readonly documentId: string | undefined;
  /** True for the deletion of a whole document. */
  readonly wholeDocument: boolean;
};

export type OrderRules<T> = {
  readonly keysOf: (item: T) => OrderKeys;
  /** True when `later`, which waits for the same chunk, makes the work on `earlier` pointless. */
  readonly replaces: (later: T, earlier: T) => boolean;
  /** The item may go now. It must `leave` when it is done. */
  readonly run: (item: T) => void;
  /** The item was replaced while it waited: it never runs and never leaves. */
  readonly superseded: (item: T) => void;
};

type DocumentLock<T> = { shared: number; exclusive: boolean; waiting: T[] };
type ChunkLock<T> = { waiting: T[] };

export class OrderGate<T> {
  readonly #rules: OrderRules<T>;
  readonly #documents = new Map<string, DocumentLock<T>>();
  readonly #chunks = new Map<string, ChunkLock<T>>();
  /** Callbacks wait here until the bookkeeping is whole again: `run` may call back into the gate. */
  readonly #pending: (() => void)[] = [];
  #calling = false;

  constructor(rules: OrderRules<T>) {
    this.#rules = rules;
  }

  get waiting(): number {
    let count = 0;
    for (const lock of this.#documents.values()) count += lock.waiting.length;
    for (const lock of this.#chunks.values()) count += lock.waiting.length;
    return count;
  }

  /** Runs the item now, or later when what is in its way has left. */
  enter(item: T): void {
    const { documentId } = this.#rules.keysOf(item);
    if (documentId === undefined) {
      this.#takeChunk(item);
    } else {
      let lock = this.#documents.get(documentId);
      if (lock === undefined) this.#documents.set(documentId, (lock = { shared: 0, exclusive: false, waiting: [] }));
      lock.waiting.push(item);
      // Through the queue even when it is free: a chunk must not overtake its document's deletion.
      this.#admit(documentId, lock);
    }
    this.#callBack();
  }

  /** The item is done, or was dropped after it ran. */
  leave(item: T): void {
    const keys = this.#rules.keysOf(item);
    if (keys.chunkId !== undefined) this.#releaseChunk(keys.chunkId);
    this.#releaseDocument(keys);
    this.#callBack();
  }

  /** Takes waiting items out, for partitions that have left. They need no `leave`. */
  dropWaiting(matches: (item: T) => boolean): T[] {
    const dropped: T[] = [];
    for (const lock of this.#chunks.values()) {
      const gone = lock.waiting.filter(matches);
      lock.waiting = lock.waiting.filter((item) => !matches(item));
      // Waiting for the chunk means holding the document already.
      for (const item of gone) this.#releaseDocument(this.#rules.keysOf(item));
      dropped.push(...gone);
    }
    for (const [id, lock] of this.#documents) {
      dropped.push(...lock.waiting.filter(matches));
      lock.waiting = lock.waiting.filter((item) => !matches(item));
      this.#admit(id, lock);
    }
    this.#callBack();
    return dropped;
  }

  #admit(id: string, lock: DocumentLock<T>): void {
    for (let next = lock.waiting[0]; next !== undefined; next = lock.waiting[0]) {
      const { wholeDocument } = this.#rules.keysOf(next);
      if (lock.exclusive || (wholeDocument && lock.shared > 0)) return;
      lock.waiting.shift();
      if (wholeDocument) lock.exclusive = true;
      else lock.shared++;
      this.#takeChunk(next);
    }
    if (lock.shared === 0 && !lock.exclusive) this.#documents.delete(id);
  }

  #takeChunk(item: T): void {
    const { chunkId } = this.#rules.keysOf(item);
    const lock = chunkId === undefined ? undefined : this.#chunks.get(chunkId);
    if (lock === undefined) {
      if (chunkId !== undefined) this.#chunks.set(chunkId, { waiting: [] });
      this.#pending.push(() => this.#rules.run(item));
      return;
    }
    const last = lock.waiting.at(-1);
    if (last !== undefined && this.#rules.replaces(item, last)) {
      lock.waiting.pop();
      lock.waiting.push(item);
      this.#pending.push(() => this.#rules.superseded(last));
      this.#releaseDocument(this.#rules.keysOf(last));
    } else {
      lock.waiting.push(item);
    }
  }

  #releaseChunk(chunkId: string): void {
    const lock = this.#chunks.get(chunkId);
    if (lock === undefined) return;
    const next = lock.waiting.shift();
    if (next === undefined) this.#chunks.delete(chunkId);
    else this.#pending.push(() => this.#rules.run(next));
  }

  #releaseDocument(keys: OrderKeys): void {
    const lock = keys.documentId === undefined ? undefined : this.#documents.get(keys.documentId);
    if (lock === undefined || keys.documentId === undefined) return;
    if (keys.wholeDocument) lock.exclusive = false;
    else lock.shared--;
    this.#admit(keys.documentId, lock);
  }

  #callBack(): void {
    if (this.#calling) return;
    this.#calling = true;
    try {
      for (let call = this.#pending.shift(); call !== undefined; call = this.#pending.shift()) call();
    } finally {
      this.#calling = false;
    }
  }
}
