/**
 * Looks at the model of a pool until it can be used, warms it up, and goes on looking: a server may be live while its model
 * is unloaded, and a model may be replaced by another one.
 *
 * Warming up means real inferences over every connection, their answers read as those of real calls, for the first one of a
 * process, a connection or a model is slow. Answers that are no good mean that the model is not ready.
 * No timer of it keeps the host's process alive.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { asServingError, ServingError } from '../src/errors.ts';
import type { InferenceClient } from '../src/inference/client.ts';
import type { ModelDescription } from '../src/kserve/model-description.ts';
import type { InferResponse } from '../src/kserve/tensor.ts';
import { backoffMs } from '../src/resilience/backoff.ts';
import type { Log } from '../src/telemetry/log.ts';
import type { PoolName } from './events.ts';
import type { ModelContract, ModelPool, PoolCall } from './model-pool.ts';

export type ModelWatchOptions<C> = {
  readonly name: PoolName;
  readonly client: InferenceClient;
  readonly modelName: string;
  readonly contractOf: (model: ModelDescription) => C;
  /** Of one row. Its answer is read as those of real calls are. */
  readonly warmUp: PoolCall<C>;
  /** Inferences of a warm-up: one a connection at least. */
  readonly warmUps: () => number;
  readonly log: Log;
};

const QUESTION_TIMEOUT_MS = 4_000;
const LOOK_EVERY_MS = 10_000;
const AGAIN = { baseMs: 100, maxMs: 2_000 } as const;

export class ModelWatch<C extends ModelContract> {
  readonly #options: ModelWatchOptions<C>;
  readonly #pool: ModelPool<C>;
  readonly #stop = new AbortController();
  /** Resolves when the model has been warmed up for the first time; rejects when it is not the model expected. */
  readonly ready: Promise<void>;

  constructor(pool: ModelPool<C>, options: ModelWatchOptions<C>) {
    this.#pool = pool;
    this.#options = options;
    const { promise, resolve, reject } = deferred();
    this.ready = promise;
    // Whoever waits for it is told; nobody has to.
    promise.catch(() => {});
    void this.#run(resolve, reject);
  }

  stop(): void {
    this.#stop.abort(new ServingError('INFERENCE_UNAVAILABLE', 'the client is closed'));
  }

  async #run(onReady: () => void, onMismatch: (error: ServingError) => void): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    let waitMs = 0;
    while (!signal.aborted) {
      try {
        const contract = await this.#look(signal);
        this.#pool.seen(contract);
        onReady();
        failures = 0;
        waitMs = LOOK_EVERY_MS;
      } catch (thrown) {
        if (signal.aborted) break;
        const error = asServingError(thrown);
        if (failures === 0) this.#log.warn('model cannot be used', { code: error.code, reason: error.message });
        failures++;
        this.#pool.missing(error);
        if (error.failureClass === 'fatal') onMismatch(error);
        waitMs = backoffMs(failures, AGAIN, Math.random());
      }
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
    onMismatch(asServingError(signal.reason));
  }

  async #look(signal: AbortSignal): Promise<C> {
    const { client, modelName, contractOf } = this.#options;
    const options = { timeoutMs: QUESTION_TIMEOUT_MS, signal };
    if (!(await client.modelReady(modelName, options))) {
      throw new ServingError('MODEL_NOT_READY', `model ${modelName} is not ready`);
    }
    const before = this.#pool.contract;
    const contract = contractOf(await client.describeModel(modelName, options));
    if (before === undefined || JSON.stringify(before) !== JSON.stringify(contract)) {
      await this.#warmUp(contract, signal);
      this.#log.info('model is ready', { ...contract });
    }
    return contract;
  }

  /** A slow first inference opens no breaker, for these have seconds. */
  async #warmUp(contract: C, signal: AbortSignal): Promise<void> {
    const { client, warmUp, warmUps } = this.#options;
    const calls = Array.from({ length: warmUps() }, () =>
      client.infer(warmUp.request(contract, 0, 1), { timeoutMs: QUESTION_TIMEOUT_MS, signal }),
    );
    const ends = await Promise.allSettled(calls);
    const failed = ends.find((end) => end.status === 'rejected');
    // One connection that works is enough to begin with.
    if (failed !== undefined && ends.every(({ status }) => status === 'rejected')) throw failed.reason;
    for (const end of ends) if (end.status === 'fulfilled') this.#read(contract, end.value);
  }

  #read(contract: C, response: InferResponse): void {
    try {
      this.#options.warmUp.take(response, contract, 0, 1);
    } catch (error) {
      throw new ServingError('MODEL_NOT_READY', `model ${contract.modelName} gives answers that are no good`, {
        cause: error,
      });
    }
  }

  get #log(): Log {
    const { name, modelName, client, log } = this.#options;
    return log.child({ pool: name, model: modelName, target: client.target });
  }
}

function deferred() {
  let resolve!: () => void;
  let reject!: (error: ServingError) => void;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
