/**
 * The model of one pool as a call sees it: is it known, is there time, is there room, and then its requests, as many as the
 * model's batch asks for.
 *
 * Nothing waits here: without a free permit a call fails at once, for a query that queues in our process is late in the end
 * and costs the next one its time. A call of several requests takes what permits are free, half of all at most, and goes on
 * with those as they come back.
 */
import { setMaxListeners } from 'node:events';
import { ServingError } from '../src/errors.ts';
import type { InferenceClient } from '../src/inference/client.ts';
import { type InferPath, inferWithin } from '../src/inference/infer-span.ts';
import type { InferRequest, InferResponse } from '../src/kserve/tensor.ts';
import { Permits, type Release } from '../src/resilience/permits.ts';
import { type Budget, cancelled } from './budget.ts';
import type { OnlineEvents, PoolName } from './events.ts';

export type ModelContract = { readonly modelName: string; readonly maxBatch: number };

export type ModelPoolOptions = {
  readonly name: PoolName;
  readonly client: InferenceClient;
  readonly maxInFlight: number;
  /** With less time left the model is not asked. */
  readonly leastMs: number;
  /** For its spans; unary unless given. */
  readonly transport?: InferPath;
};

export type PoolCall<C> = {
  readonly rows: number;
  /** The request for rows `from` to `to`, without the latter. */
  request(contract: C, from: number, to: number): InferRequest;
  /** Its answer. May throw: then the call fails with that. */
  take(response: InferResponse, contract: C, from: number, to: number): void;
};

export class ModelPool<C extends ModelContract> {
  readonly #options: ModelPoolOptions;
  readonly #events: OnlineEvents;
  readonly #permits: Permits;
  #contract: C | undefined;
  #fault: ServingError | undefined;
  #closed = false;

  constructor(options: ModelPoolOptions, events: OnlineEvents) {
    this.#options = options;
    this.#events = events;
    this.#permits = new Permits(options.maxInFlight);
  }

  /** What the model said of itself last; undefined until it has been seen. */
  get contract(): C | undefined {
    return this.#contract;
  }

  /** Why the model cannot be used, as seen last. */
  get fault(): ServingError | undefined {
    return this.#fault;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The model as it is now. */
  seen(contract: C): void {
    this.#contract = contract;
    this.#fault = undefined;
  }

  /** It could not be looked at, or is not what is expected; in the latter case it is not used any more. */
  missing(error: ServingError): void {
    this.#fault = error;
    if (error.failureClass === 'fatal') this.#contract = undefined;
  }

  close(): void {
    this.#closed = true;
    this.#options.client.close();
  }

  /** Asks for all rows and resolves with what was needed for it. The first request that fails ends the others. */
  async run(call: PoolCall<C>, budget: Budget): Promise<{ readonly contract: C; readonly requests: number }> {
    const contract = this.#usable();
    if (call.rows === 0) return { contract, requests: 0 };
    const leftMs = budget.deadlineMs - performance.now();
    if (leftMs < this.#options.leastMs) {
      throw new ServingError(
        'INFERENCE_DEADLINE',
        `${this.#options.name}: ${leftMs <= 0 ? 'the deadline is past' : `less than ${this.#options.leastMs} ms are left`}`,
        { details: { asked: false } },
      );
    }
    const requests = Math.ceil(call.rows / contract.maxBatch);
    const permits = this.#admit(requests);
    try {
      if (requests === 1) await this.#ask(call, contract, 0, call.rows, budget);
      else await this.#askInParts(call, contract, permits.length, budget);
      return { contract, requests };
    } finally {
      for (const release of permits) release();
    }
  }

  #usable(): C {
    const { name } = this.#options;
    if (this.#closed) throw new ServingError('INFERENCE_UNAVAILABLE', `${name}: the client is closed`);
    if (this.#contract !== undefined) return this.#contract;
    if (this.#fault?.failureClass === 'fatal') throw this.#fault;
    throw new ServingError('MODEL_NOT_READY', `${name}: the model has not been seen yet`, { cause: this.#fault });
  }

  #admit(requests: number): Release[] {
    const most = Math.min(requests, Math.max(1, this.#permits.limit >> 1));
    const permits: Release[] = [];
    while (permits.length < most) {
      const release = this.#permits.tryAcquire();
      if (release === undefined) break;
      permits.push(release);
    }
    if (permits.length > 0) return permits;
    throw new ServingError(
      'OVERLOADED',
      `${this.#options.name}: ${this.#permits.limit} requests are under way, no more are let in`,
      { details: { limit: this.#permits.limit } },
    );
  }

  /** `lanes` requests at a time. */
  async #askInParts(call: PoolCall<C>, contract: C, lanes: number, budget: Budget): Promise<void> {
    const { signal } = budget;
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const giveUp = () => stop.abort(signal?.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    const part = { ...budget, signal: stop.signal };
    let next = 0;
    const lane = async () => {
      while (next < call.rows) {
        const from = next;
        next = Math.min(from + contract.maxBatch, call.rows);
        await this.#ask(call, contract, from, next, part);
      }
    };
    try {
      await Promise.all(Array.from({ length: lanes }, lane));
    } catch (error) {
      if (signal?.aborted === true) throw cancelled(signal);
      throw error;
    } finally {
      next = call.rows;
      signal?.removeEventListener('abort', giveUp);
      stop.abort();
    }
  }

  async #ask(call: PoolCall<C>, contract: C, from: number, to: number, budget: Budget): Promise<void> {
    const { name, client, transport } = this.#options;
    const { deadlineMs, signal, traceparent, span, alsoFor } = budget;
    const request = call.request(contract, from, to);
    const timeoutMs = deadlineMs - performance.now();
    if (timeoutMs <= 0) throw new ServingError('INFERENCE_DEADLINE', `${name}: no time is left for the whole call`);
    this.#events.inFlight(name, 1);
    try {
      const options = {
        timeoutMs,
        ...(signal === undefined ? {} : { signal }),
        ...(traceparent === undefined ? {} : { traceparent }),
      };
      const response = await inferWithin(span, client, request, options, transport, alsoFor);
      call.take(response, contract, from, to);
    } finally {
      this.#events.inFlight(name, -1);
    }
  }
}
