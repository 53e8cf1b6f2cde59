/**
 * Asks a live model for every row, together and alone, as often as wanted, and writes down what came back.
 *
 * One call at a time: what is measured is the model, not a load test. A full queue is other people's traffic and is waited
 * out. A model that no longer answers is given up after a few calls, so that a dead server does not cost a timeout a row.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { asServingError, ServingError } from '../errors.ts';
import type { InferenceClient } from '../inference/client.ts';
import { backoffMs } from '../resilience/backoff.ts';
import type { Asking } from './asking.ts';

/** In the order in which a row is asked. */
export const WAYS = ['batch', 'alone'] as const;
export type Way = (typeof WAYS)[number];

export type Given = { readonly index: number; readonly way: Way; readonly row: Float32Array };

export type FailedCall = { readonly indices: readonly number[]; readonly way: Way; readonly error: ServingError };

export type Interview = {
  /** Calls that had an end: an answer or an error. */
  readonly calls: number;
  /** Times that a full queue was waited out. */
  readonly waits: number;
  readonly failed: readonly FailedCall[];
  readonly latenciesMs: Readonly<Record<Way, readonly number[]>>;
  /** Rows that the model fails on each time, while it answers others: the model is at fault, not the connection. */
  readonly faultyRows: readonly number[];
  /** Why not everything was asked. */
  readonly stopped: ServingError | undefined;
};

export type InterviewOptions = {
  readonly client: Pick<InferenceClient, 'infer'>;
  readonly asking: Asking;
  readonly rows: number;
  readonly repeat: number;
  readonly ways: readonly Way[];
  readonly callTimeoutMs: number;
  readonly onGiven: (given: Given) => void;
  readonly nowMs: () => number;
};

const GIVE_UP_AFTER = 3;
const WAITS_A_CALL = 6;
const BUSY = { baseMs: 100, maxMs: 2_000 } as const;
/** Not jittered: one checker is no crowd. */
const NO_JITTER = 1;
const RETRIED_ROWS = 3;

/** Never rejects: an abort, like whatever the model does, is in the result, beside what was found out until then. */
export async function interview(options: InterviewOptions, signal: AbortSignal): Promise<Interview> {
  const run = new Run(options, signal);
  const all = Array.from({ length: options.rows }, (_, index) => index);
  const batches = chunksOf(all, options.asking.maxBatch);
  const { ways } = options;
  for (let pass = 0; pass < options.repeat && run.stopped === undefined; pass++) {
    if (ways.includes('batch')) for (const batch of batches) await run.ask(batch, 'batch');
    if (ways.includes('alone')) for (const index of all) await run.ask([index], 'alone');
  }
  const faultyRows = run.stopped === undefined ? await run.askFailedAgain() : [];
  return { ...run.told, faultyRows };
}

class Run {
  readonly #options: InterviewOptions;
  readonly #signal: AbortSignal;
  readonly #failed: FailedCall[] = [];
  readonly #latenciesMs: Record<Way, number[]> = { alone: [], batch: [] };
  readonly #answered = new Set<number>();
  #calls = 0;
  #waits = 0;
  #silentInARow = 0;
  #stopped: ServingError | undefined;

  constructor(options: InterviewOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  get stopped(): ServingError | undefined {
    return this.#stopped;
  }

  get told(): Omit<Interview, 'faultyRows'> {
    const [calls, waits, failed, stopped] = [this.#calls, this.#waits, this.#failed, this.#stopped];
    return { calls, waits, failed, latenciesMs: this.#latenciesMs, stopped };
  }

  /** Does nothing once the model has been given up. */
  async ask(indices: readonly number[], way: Way): Promise<boolean> {
    for (let wait = 1; this.#stopped === undefined; wait++) {
      const error = await this.#askOnce(indices, way);
      if (error === undefined) return true;
      if (this.#signal.aborted) {
        this.#stopped = abortedBy(this.#signal);
      } else if (error.failureClass === 'backpressure' && wait <= WAITS_A_CALL) {
        this.#waits++;
        // An abort shows at the next call.
        await sleep(backoffMs(wait, BUSY, NO_JITTER), undefined, { signal: this.#signal }).catch(() => {});
      } else {
        this.#note({ indices, way, error });
        return false;
      }
    }
    return false;
  }

  /** An error can be the model's, of this very row, or the server's. Asked again, with a row that was answered beside it. */
  async askFailedAgain(): Promise<number[]> {
    const [control] = this.#answered;
    if (control === undefined) return [];
    const failed = this.#failed.filter(({ way, error }) => way === 'alone' && error.code === 'INFERENCE_FAILED');
    const indices = [...new Set(failed.map((call) => call.indices[0]!))].filter((index) => !this.#answered.has(index));
    const faulty: number[] = [];
    for (const index of indices.slice(0, RETRIED_ROWS)) {
      if (!(await this.ask([index], 'alone')) && (await this.ask([control], 'alone'))) faulty.push(index);
    }
    return faulty;
  }

  async #askOnce(indices: readonly number[], way: Way): Promise<ServingError | undefined> {
    const { client, asking, callTimeoutMs, nowMs, onGiven } = this.#options;
    const startedMs = nowMs();
    try {
      const response = await client.infer(asking.request(indices), { timeoutMs: callTimeoutMs, signal: this.#signal });
      const tookMs = nowMs() - startedMs;
      const rows = asking.read(response, indices.length);
      this.#latenciesMs[way].push(tookMs);
      this.#calls++;
      this.#silentInARow = 0;
      if (way === 'alone') this.#answered.add(indices[0]!);
      for (const [at, row] of rows.entries()) onGiven({ index: indices[at]!, way, row });
      return undefined;
    } catch (thrown) {
      return asServingError(thrown);
    }
  }

  #note(call: FailedCall): void {
    this.#calls++;
    this.#failed.push(call);
    const { failureClass, code } = call.error;
    const answered = failureClass === 'chunk' || code === 'INFERENCE_RESPONSE_INVALID' || code === 'INFERENCE_FAILED';
    this.#silentInARow = answered ? 0 : this.#silentInARow + 1;
    const hopeless = failureClass === 'fatal' && code !== 'INFERENCE_RESPONSE_INVALID';
    if (hopeless || this.#silentInARow >= GIVE_UP_AFTER) this.#stopped = call.error;
  }
}

/** What stopped a check, in the words of whoever aborted it. */
export function abortedBy(signal: AbortSignal): ServingError {
  const why = signal.reason instanceof Error ? signal.reason.message : 'stopped';
  return new ServingError('INFERENCE_CANCELLED', why, { cause: signal.reason });
}

function chunksOf(indices: readonly number[], size: number): number[][] {
  const chunks: number[][] = [];
  for (let from = 0; from < indices.length; from += size) chunks.push(indices.slice(from, from + size));
  return chunks;
}
