/** All processes of a chaos run, and each fault from its beginning to its end. Faults of one target wait for each other. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from '../integration/worker/harness.ts';
import type { Parts } from './parts.ts';
import { sufferPart } from './parts.ts';
import { type Part, type PartAction, parts as partNames, SESSION_TIMEOUT_MS, type Stroke } from './plan.ts';
import { abandonedFiles, type ShmMount } from './shm-mount.ts';
import { ChaosWorker } from './workers.ts';

const WORKER_SETTINGS: Env = {
  RAG_SERVING_SHM_MODE: 'required',
  RAG_SERVING_SHM_SLOT_INPUT_BYTES: '131072',
  RAG_SERVING_MAX_BATCH_SIZE: '32',
  RAG_SERVING_INFERENCE_TIMEOUT_MS: '1500',
  RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
  // The broker waits for a killed member until its session ends.
  KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
};
const SHM_FILES_GONE_WITHIN_MS = 10_000;

export class World {
  readonly #parts: Parts;
  readonly #mount: ShmMount;
  readonly #workers: readonly ChaosWorker[];
  readonly #guest: ChaosWorker;
  readonly #idPrefix: string;
  /** End of the last fault of each target. */
  readonly #busy = new Map<string, Promise<void>>();

  constructor(
    parts: Parts,
    mount: ShmMount,
    idPrefix: string,
    workers: number,
    env: Env,
    onFault: (says: string) => void,
  ) {
    this.#parts = parts;
    this.#mount = mount;
    this.#idPrefix = idPrefix;
    const worker = (name: string) =>
      new ChaosWorker(`${idPrefix}-${name}`, { ...WORKER_SETTINGS, ...parts.env, ...env }, mount, onFault);
    this.#workers = Array.from({ length: workers }, (_, i) => worker(String(i + 1)));
    this.#guest = worker('guest');
  }

  async start(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.start()));
    await this.untilReady();
  }

  /** Resolves when the fault is over; `began` is called when its target was free for it. */
  suffer(stroke: Stroke, began: () => void): Promise<void> {
    const targets = this.#targetsOf(stroke);
    const before = Promise.all(targets.map((target) => this.#busy.get(target)));
    const over = before.then(() => {
      began();
      return this.#suffer(stroke);
    });
    // A fault that could not be done is told by its own promise, and does not hold up the next one.
    for (const target of targets)
      this.#busy.set(
        target,
        over.catch(() => undefined),
      );
    return over;
  }

  async untilReady(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.untilReady()));
  }

  /** Files in /dev/shm that no living worker holds, once each has swept what its predecessor left. */
  async shmFilesLeft(): Promise<string[]> {
    const find = () => {
      const pids = [...this.#workers, this.#guest].flatMap(({ pid }) => pid ?? []);
      return abandonedFiles(this.#mount.folder, `rag-${this.#idPrefix}-`, pids);
    };
    let left = find();
    for (const until = Date.now() + SHM_FILES_GONE_WITHIN_MS; left.length > 0 && Date.now() < until; left = find()) {
      await sleep(250);
    }
    return left;
  }

  /** Ends every worker in order. */
  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end('SIGTERM')));
  }

  #targetsOf({ fault, worker }: Stroke): string[] {
    if (fault === 'guest worker') return [fault];
    if (fault === 'shared memory full') return ['shm', `worker ${worker}`];
    return [fault.startsWith('worker') ? `worker ${worker}` : fault.split(' ')[0]!];
  }

  async #suffer({ fault, worker: index, lastsMs }: Stroke): Promise<void> {
    const worker = this.#workers[index]!;
    switch (fault) {
      case 'worker killed':
        await worker.end('SIGKILL');
        await sleep(lastsMs);
        return worker.start();
      case 'worker stopped':
        await worker.end('SIGTERM');
        await sleep(lastsMs);
        return worker.start();
      case 'worker frozen':
      case 'worker frozen past its session':
        worker.signal('SIGSTOP');
        await sleep(lastsMs);
        return worker.signal('SIGCONT');
      case 'guest worker':
        await this.#guest.start();
        await sleep(lastsMs);
        return this.#guest.end('SIGTERM');
      case 'shared memory full':
        return this.#fillSharedMemory(worker, lastsMs);
      default: {
        const part = partNames.find((name) => fault.startsWith(name)) as Part;
        return sufferPart(this.#parts[part]!, fault.slice(part.length + 1) as PartAction, lastsMs);
      }
    }
  }

  /** A worker that starts while there is no room says so and ends; those that run do not notice. */
  async #fillSharedMemory(worker: ChaosWorker, lastsMs: number): Promise<void> {
    if (this.#mount.fill === undefined) return;
    await worker.end('SIGTERM');
    this.#mount.fill();
    try {
      await worker.start();
      await sleep(lastsMs);
    } finally {
      this.#mount.empty();
    }
  }
}
