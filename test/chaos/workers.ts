/**
 * The workers of a chaos run. One that ends without having been told to is started again, as an orchestrator would, and
 * remembered as a fault of the product, unless it had no room in a /dev/shm that we have filled.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Exit } from '../../scripts/stack/program.ts';
import { type Env, eventually, startWorker, type WorkerProcess } from '../integration/worker/harness.ts';
import type { ShmMount } from './shm-mount.ts';

const START_AGAIN_MS = 500;
const READY_WITHIN_MS = 60_000;
const LOG_TAIL = 3_000;
/** 0 drained; 3 with work unfinished, which stays uncommitted. */
const ORDERLY_CODES: readonly (number | null)[] = [0, 3];

export class ChaosWorker {
  readonly id: string;
  readonly #env: Env;
  readonly #mount: ShmMount;
  readonly #onFault: (says: string) => void;
  #process: WorkerProcess | undefined;
  #wanted = false;
  #starting: Promise<void> | undefined;

  constructor(id: string, env: Env, mount: ShmMount, onFault: (says: string) => void) {
    this.id = id;
    this.#env = { ...env, RAG_SERVING_WORKER_ID: id };
    this.#mount = mount;
    this.#onFault = onFault;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#process?.program.running === true ? this.#process.program.pid : undefined;
  }

  /** One start at a time: a second process under the same id would be refused, and the first forgotten. */
  start(): Promise<void> {
    this.#wanted = true;
    this.#starting ??= this.#launch().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Ends it; a SIGTERM must be followed. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#wanted = false;
    await this.#starting?.catch(() => undefined);
    // What has ended by itself has been told of already.
    if (this.pid === undefined) return;
    const exit = await this.#process?.stop(signal);
    if (signal === 'SIGTERM' && exit !== undefined && !ORDERLY_CODES.includes(exit.code)) {
      this.#onFault(`${this.id} ended with ${JSON.stringify(exit)} after SIGTERM:\n${this.#tail()}`);
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.program.signal(signal);
  }

  untilReady(): Promise<void> {
    return eventually(
      `${this.id} is ready`,
      async () => (await this.#process?.ready())?.status === 200,
      READY_WITHIN_MS,
      200,
    ).catch((cause: unknown) => {
      throw new Error(`${this.id} does not become ready:\n${this.#tail()}`, { cause });
    });
  }

  async #launch(): Promise<void> {
    const process = await startWorker(this.#env, this.#mount.launcher);
    this.#process = process;
    void process.program.exited.then((exit) => this.#onEnd(process, exit));
  }

  async #onEnd(ended: WorkerProcess, exit: Exit): Promise<void> {
    if (!this.#wanted || this.#process !== ended) return;
    const hasNoRoom = ended.log.some(({ code }) => code === 'SHM_NO_SPACE');
    if (!hasNoRoom || this.#mount.fill === undefined) {
      this.#onFault(`${this.id} ended by itself with ${JSON.stringify(exit)}:\n${this.#tail()}`);
    }
    do await sleep(START_AGAIN_MS);
    while (this.#wanted && this.#mount.isFull);
    if (this.#wanted && this.#process === ended) await this.start();
  }

  #tail(): string {
    return this.#process?.program.output.slice(-LOG_TAIL) ?? 'it was never started';
  }
}
