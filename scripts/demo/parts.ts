/** Everything the demo starts, in order, and stops, in reverse. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startKafka } from '../stack/kafka.ts';
import { startPostgres } from '../stack/postgres.ts';
import { Program } from '../stack/program.ts';
import { startRedis } from '../stack/redis.ts';
import { startTriton } from '../stack/triton.ts';

export type DemoChoice = { readonly engine: 'embedded' | 'triton'; readonly sink: 'lancedb' | 'redis' | 'pgvector' };

export type DemoParts = {
  readonly bootstrapServers: string;
  readonly engineUrl: string;
  /** Settings of the worker, and of whatever else reads the same store. */
  readonly env: Readonly<Record<string, string>>;
};

type Stop = () => Promise<unknown>;

/** Small enough for the bar to move on two cores; the default of 256 takes a CPU ten seconds a batch. */
const DEMO_BATCH = '32';

export class Demo {
  readonly folder: string;
  readonly #stops: Stop[] = [];
  readonly #say: (line: string) => void;
  readonly #signal: AbortSignal;

  constructor(folder: string, say: (line: string) => void, signal: AbortSignal) {
    this.folder = folder;
    this.#say = say;
    this.#signal = signal;
  }

  async start({ engine, sink }: DemoChoice): Promise<DemoParts> {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true });
    this.#announce('starting Kafka');
    const kafka = this.#keep(await startKafka({ onLine: this.#say }));
    const store = await this.#startStore(sink);
    const engineUrl = await this.#startEngine(engine);
    const env = {
      KAFKA_BOOTSTRAP_SERVERS: kafka.bootstrapServers,
      RAG_SERVING_BATCH_INGEST_GRPC_URL: engineUrl,
      RAG_SERVING_SERVER_HOST: '127.0.0.1',
      RAG_SERVING_SERVER_PORT: '0',
      RAG_SERVING_MAX_BATCH_SIZE: DEMO_BATCH,
      RAG_SERVING_WORKER_ID: `demo-${process.pid}`,
      // Well below the time that `stop` gives a program: one that is killed leaves its shared memory behind.
      RAG_SERVING_DRAIN_TIMEOUT_MS: '10000',
      ...store,
    };
    return { bootstrapServers: kafka.bootstrapServers, engineUrl, env };
  }

  /** Before each step, so that an interrupted start ends at the next one. */
  #announce(step: string): void {
    this.#signal.throwIfAborted();
    this.#say(step);
  }

  async #startStore(sink: DemoChoice['sink']): Promise<Record<string, string>> {
    if (sink === 'lancedb') {
      return { RAG_SERVING_SINK: 'lancedb', RAG_SERVING_LANCEDB_PATH: join(this.folder, 'lancedb') };
    }
    if (sink === 'pgvector') {
      this.#announce('starting PostgreSQL');
      const postgres = this.#keep(await startPostgres({ onLine: this.#say }));
      return { RAG_SERVING_SINK: 'pgvector', RAG_SERVING_PGVECTOR_URL: postgres.url };
    }
    this.#announce('starting Redis');
    const redis = this.#keep(await startRedis({ onLine: this.#say }));
    return { RAG_SERVING_SINK: 'redis', RAG_SERVING_REDIS_URL: redis.url };
  }

  async #startEngine(engine: DemoChoice['engine']): Promise<string> {
    if (engine === 'triton') {
      this.#announce('starting Triton');
      return this.#keep(await startTriton({ onLine: this.#say })).grpcUrl;
    }
    this.#announce('starting the embedded engine');
    const ports = ['--grpc-port', '0', '--http-port', '0', '--metrics-port', '0'];
    const program = this.run(['engine', ...ports], {});
    const ready = await program.line(({ event }) => event === 'engine ready', 300_000);
    return `127.0.0.1:${ready.grpcPort}`;
  }

  /** One of our own programs; stopped with everything else. */
  run(args: readonly string[], env: Readonly<Record<string, string>>): Program {
    const program = new Program(args, env);
    this.#stops.push(async () => {
      await program.stop('SIGTERM', 20_000).catch(() => program.kill());
      await writeFile(join(this.folder, `${args[0]}.log`), program.output);
    });
    return program;
  }

  #keep<T extends { stop(): Promise<void> }>(server: T): T {
    this.#stops.push(() => server.stop());
    return server;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.reverse()) await stop();
    this.#stops.length = 0;
  }
}
