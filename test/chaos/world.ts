/** The processes of a chaos run: two workers, an engine behind a proxy, Redis; each fault, and how it is healed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultProxy, startProxy } from '../../scripts/stack/proxy.ts';
import type { RunningRedis } from '../../scripts/stack/redis.ts';
import {
  type EngineProcess,
  type Env,
  startEngine,
  startWorker,
  type WorkerProcess,
} from '../integration/worker/harness.ts';
import type { Round } from './plan.ts';

const ENGINE = ['--synthetic', '--batch-ms', '20'];

export class World {
  readonly ids: readonly string[];
  readonly #redis: RunningRedis;
  readonly #env: Env;
  readonly #workers: WorkerProcess[] = [];
  #engine!: EngineProcess;
  #proxy!: FaultProxy;

  constructor(ids: readonly string[], redis: RunningRedis, env: Env) {
    this.ids = ids;
    this.#redis = redis;
    this.#env = env;
  }

  get workers(): readonly WorkerProcess[] {
    return this.#workers;
  }

  async start(): Promise<void> {
    this.#engine = await startEngine(ENGINE);
    this.#proxy = await startProxy({ target: { port: this.#engine.grpcPort } });
    for (const index of this.ids.keys()) await this.#startWorker(index);
  }

  /** One fault from its beginning to its end. Throws when a worker has ended that nobody has ended. */
  async suffer({ fault, worker, lastsMs }: Round): Promise<void> {
    this.expectAlive();
    switch (fault) {
      case 'kill a worker':
        await this.#workers[worker]?.stop('SIGKILL');
        await sleep(lastsMs);
        return this.#startWorker(worker);
      case 'stop a worker': {
        const exit = await this.#workers[worker]?.stop('SIGTERM');
        if (exit?.code !== 0 && exit?.code !== 3) throw new Error(`${this.ids[worker]} ended ${JSON.stringify(exit)}`);
        await sleep(lastsMs);
        return this.#startWorker(worker);
      }
      case 'kill the engine':
        await this.#engine.program.kill();
        await sleep(lastsMs);
        this.#engine = await startEngine(ENGINE, this.#engine.grpcPort);
        return;
      case 'freeze the engine':
        this.#engine.program.signal('SIGSTOP');
        await sleep(lastsMs);
        this.#engine.program.signal('SIGCONT');
        return;
      case 'cut the engine off':
        await this.#proxy.cut();
        await sleep(lastsMs);
        return this.#proxy.restore();
      case 'kill Redis':
        await this.#redis.kill('SIGKILL');
        await sleep(lastsMs);
        return this.#redis.restart();
    }
  }

  expectAlive(): void {
    for (const [index, { program }] of this.#workers.entries()) {
      if (!program.running) throw new Error(`${this.ids[index]} ended by itself:\n${program.output.slice(-4_000)}`);
    }
  }

  async close(): Promise<void> {
    await this.#proxy?.close();
  }

  async #startWorker(index: number): Promise<void> {
    this.#workers[index] = await startWorker({
      ...this.#env,
      RAG_SERVING_WORKER_ID: this.ids[index] ?? '',
      RAG_SERVING_BATCH_INGEST_GRPC_URL: this.#proxy.address,
      RAG_SERVING_MAX_BATCH_SIZE: '32',
      RAG_SERVING_INFERENCE_TIMEOUT_MS: '1500',
      RAG_SERVING_DRAIN_TIMEOUT_MS: '5000',
      // The broker waits for a killed member until its session ends.
      KAFKA_SESSION_TIMEOUT_MS: '6000',
    });
  }
}
