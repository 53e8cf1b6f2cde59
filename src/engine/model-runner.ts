/**
 * ModelRunner: drives the batch queue of one model with a real clock and hands due batches to its compute.
 *
 * A request that is being executed is never stopped, also when its client has gone, as in Triton: its output is still
 * written. Only what still waits is withdrawn.
 */
import type { Clock } from '../clock.ts';
import type { Columns, Compute, ComputeResult } from './compute.ts';
import type { ModelSpec } from './model-spec.ts';
import { BatchQueue } from './scheduler.ts';
import { ModelStatistics } from './statistics.ts';
import { asWireFault, WireFault } from './wire-fault.ts';

export type Submission = {
  readonly columns: Columns;
  readonly rows: number;
  /** Id of the request, for messages; may be empty. */
  readonly id: string;
  /** The request's own limit for its time in the queue; 0 = the model's default. */
  readonly timeoutUs: number;
};

export type Computed = { readonly rows: Uint8Array; readonly queueMs: number; readonly inferMs: number };

type Job = Submission & {
  readonly offeredAtMs: number;
  readonly resolve: (computed: Computed) => void;
  readonly reject: (fault: WireFault) => void;
};

export class ModelRunner {
  readonly spec: ModelSpec;
  readonly statistics = new ModelStatistics();
  readonly #compute: Compute;
  readonly #clock: Clock;
  readonly #queue: BatchQueue<Job>;
  #freeInstances: number;
  #executing = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(spec: ModelSpec, compute: Compute, clock: Clock, instances = 1) {
    this.spec = spec;
    this.#compute = compute;
    this.#clock = clock;
    this.#queue = new BatchQueue(spec.queue);
    this.#freeInstances = instances;
  }

  /** Requests that wait; those being executed are not counted. */
  get pending(): number {
    return this.#queue.pending;
  }

  /** Rejects with a WireFault. Aborting the signal withdraws a request that still waits. */
  submit(submission: Submission, signal?: AbortSignal): Promise<Computed> {
    return new Promise<Computed>((resolve, reject) => {
      const withdraw = () => this.#queue.withdraw(job) && job.reject(cancelled());
      // A stream's signal outlives millions of requests: each takes its listener away with it.
      const settled = () => signal?.removeEventListener('abort', withdraw);
      const now = this.#clock.monotonicMs();
      const job: Job = {
        ...submission,
        offeredAtMs: now,
        resolve: (computed) => {
          settled();
          resolve(computed);
        },
        reject: (fault) => {
          settled();
          reject(fault);
        },
      };
      if (this.#stopped) return job.reject(this.#refusal('the server is stopping'));
      if (signal?.aborted === true) return job.reject(cancelled());
      if (!this.#queue.offer(job, job.rows, job.timeoutUs, now * 1000)) {
        return job.reject(this.#refusal(`[request id: ${job.id || '<id_unknown>'}] Exceeds maximum queue size`));
      }
      signal?.addEventListener('abort', withdraw, { once: true });
      this.#pump();
    });
  }

  /** Refuses new requests and resolves when those it has are done. */
  async drain(): Promise<void> {
    this.#stopped = true;
    if (this.#executing === 0 && this.#queue.pending === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Refuses what still waits; what is being executed ends by itself. */
  abandon(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const job of this.#queue.drain()) job.reject(this.#refusal('the server is stopping'));
    this.#tellIdle();
  }

  #pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#freeInstances > 0) {
      const nowUs = this.#clock.monotonicMs() * 1000;
      const { batch, expired } = this.#queue.take(nowUs);
      for (const job of expired) job.reject(this.#refusal('Request timeout expired'));
      if (batch.length === 0) break;
      void this.#execute(batch);
    }
    const dueAtUs = this.#freeInstances > 0 ? this.#queue.dueAt() : undefined;
    if (dueAtUs !== undefined) {
      const waitMs = Math.ceil(dueAtUs / 1000 - this.#clock.monotonicMs());
      this.#timer = setTimeout(() => this.#pump(), Math.max(waitMs, 0));
    }
    this.#tellIdle();
  }

  async #execute(batch: readonly Job[]): Promise<void> {
    this.#freeInstances--;
    this.#executing++;
    const startedAtMs = this.#clock.monotonicMs();
    let results: readonly ComputeResult[];
    try {
      results = await this.#compute.run(batch.map(({ columns }) => columns));
    } catch (error) {
      const fault = asWireFault(error);
      results = batch.map(() => fault);
    }
    const inferMs = this.#clock.monotonicMs() - startedAtMs;
    const rows = batch.reduce((sum, job) => sum + job.rows, 0);
    this.statistics.recordExecution(rows, inferMs, this.#clock.wallMs());
    batch.forEach((job, i) => {
      const result = results[i];
      if (result instanceof Uint8Array) {
        job.resolve({ rows: result, queueMs: startedAtMs - job.offeredAtMs, inferMs });
      } else {
        job.reject(result ?? new WireFault('INTERNAL', `model '${this.spec.name}' gave no answer`, 'BACKEND'));
      }
    });
    this.#freeInstances++;
    this.#executing--;
    this.#pump();
  }

  #tellIdle(): void {
    if (this.#executing > 0 || this.#queue.pending > 0) return;
    for (const tell of this.#idle.splice(0)) tell();
  }

  // The models carry the names of ensembles, and an ensemble puts its name before what a model of it says.
  #refusal(message: string): WireFault {
    return new WireFault('UNAVAILABLE', `in ensemble '${this.spec.name}', ${message}`, 'REJECTED');
  }
}

function cancelled(): WireFault {
  return new WireFault('CANCELLED', 'request has been cancelled', 'CANCELED');
}
