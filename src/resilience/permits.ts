/** A bound on what runs at once. Waiters are served first come, first served; an aborted waiter leaves the queue. */

export type Release = () => void;

type Waiter = { readonly grant: (release: Release) => void };

export class Permits {
  readonly limit: number;
  #held = 0;
  readonly #waiters = new Set<Waiter>();

  constructor(limit: number) {
    this.limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Resolves with the function that gives the permit back (once); rejects with the signal's reason. */
  acquire(signal?: AbortSignal): Promise<Release> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#held < this.limit) return Promise.resolve(this.#take());
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters.delete(waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        grant: (release) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(release);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Undefined when none is free. */
  tryAcquire(): Release | undefined {
    return this.#held < this.limit ? this.#take() : undefined;
  }

  #take(): Release {
    this.#held++;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#held--;
      const [next] = this.#waiters;
      if (next === undefined) return;
      this.#waiters.delete(next);
      next.grant(this.#take());
    };
  }
}
