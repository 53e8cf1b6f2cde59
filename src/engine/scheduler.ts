/**
 * BatchQueue: Triton's dynamic batcher as a decision: which requests run together, which wait, which are refused.
 *
 * Pure: time is an argument, in microseconds, as Triton's settings are. A request is never split, and the queue is
 * first in, first out: a big request at the head is not overtaken by a small one behind it.
 * Surprising but Triton's: a queue timeout is noticed when the model is free to take a batch, not when it passes.
 */
export type QueuePolicy = {
  /** Rows of one execution. */
  readonly maxBatch: number;
  /** How long the oldest request may wait for company. */
  readonly maxDelayUs: number;
  /** Requests waiting, those being executed not counted; 0 = no limit. */
  readonly maxQueueSize: number;
  /** Longest time in the queue for a request that asks for nothing else; 0 = no limit. */
  readonly defaultTimeoutUs: number;
};

type Waiting<T> = { readonly item: T; readonly rows: number; readonly since: number; readonly expiresAt: number };

export type Taken<T> = { readonly batch: readonly T[]; readonly expired: readonly T[] };

export class BatchQueue<T> {
  readonly #policy: QueuePolicy;
  #waiting: Waiting<T>[] = [];

  constructor(policy: QueuePolicy) {
    this.#policy = policy;
  }

  get pending(): number {
    return this.#waiting.length;
  }

  /** False: the queue is full. `timeoutUs` is the request's own `timeout` parameter; 0 means the default. */
  offer(item: T, rows: number, timeoutUs: number, now: number): boolean {
    const { maxQueueSize, defaultTimeoutUs } = this.#policy;
    if (maxQueueSize > 0 && this.#waiting.length >= maxQueueSize) return false;
    const timeout = timeoutUs > 0 ? timeoutUs : defaultTimeoutUs;
    this.#waiting.push({ item, rows, since: now, expiresAt: timeout > 0 ? now + timeout : Number.POSITIVE_INFINITY });
    return true;
  }

  /** Takes a request back out: its client has gone. False when it is being executed, or done. */
  withdraw(item: T): boolean {
    const at = this.#waiting.findIndex((waiting) => waiting.item === item);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /** When `take` will have something to give to a free model; undefined while nothing waits. */
  dueAt(): number | undefined {
    const head = this.#waiting[0];
    if (head === undefined) return undefined;
    return this.#headBatch().full ? head.since : head.since + this.#policy.maxDelayUs;
  }

  /** For a free model: the next batch if it is due, and what has waited for too long. */
  take(now: number): Taken<T> {
    const expired: T[] = [];
    this.#waiting = this.#waiting.filter((waiting) => {
      if (waiting.expiresAt > now) return true;
      expired.push(waiting.item);
      return false;
    });
    const dueAt = this.dueAt();
    if (dueAt === undefined || now < dueAt) return { batch: [], expired };
    const { count } = this.#headBatch();
    return { batch: this.#waiting.splice(0, count).map(({ item }) => item), expired };
  }

  /** Empties the queue: the engine stops. */
  drain(): readonly T[] {
    return this.#waiting.splice(0).map(({ item }) => item);
  }

  #headBatch(): { count: number; full: boolean } {
    let rows = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      if (count > 0 && rows + waiting.rows > this.#policy.maxBatch) return { count, full: true };
      rows += waiting.rows;
      count++;
    }
    return { count, full: rows >= this.#policy.maxBatch };
  }
}
