/** The state of each endpoint's breaker and since when, as told by whoever owns them. */
import type { BreakerStateName } from '../resilience/breaker.ts';
import type { ModelServerStatus } from './status-schema.ts';

/** Endpoints come from the settings; a name service behind them could still bring many. */
const MOST = 64;

export class BreakerBoard {
  readonly #states = new Map<string, { readonly state: BreakerStateName; readonly sinceMs: number }>();

  set(endpoint: string, state: BreakerStateName, nowMs: number): void {
    if (this.#states.size >= MOST && !this.#states.has(endpoint)) return;
    this.#states.set(endpoint, { state, sinceMs: nowMs });
  }

  /** Of a server that is gone. */
  drop(endpoint: string): void {
    this.#states.delete(endpoint);
  }

  read(): ModelServerStatus['breakers'] {
    return Array.from(this.#states, ([endpoint, { state, sinceMs }]) => ({
      endpoint,
      state,
      since: new Date(sinceMs).toISOString(),
    }));
  }
}
