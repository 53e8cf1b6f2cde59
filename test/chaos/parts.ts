/** Engine, broker and store of a chaos run, each a real process behind a proxy of its own, and what can happen to each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/stack/free-port.ts';
import { type RunningKafka, startKafka } from '../../scripts/stack/kafka.ts';
import { startPostgres } from '../../scripts/stack/postgres.ts';
import { type FaultProxy, startProxy } from '../../scripts/stack/proxy.ts';
import { startRedis } from '../../scripts/stack/redis.ts';
import type { KillSignal, RunningServer } from '../../scripts/stack/server-process.ts';
import { startTriton } from '../../scripts/stack/triton.ts';
import { type EngineProcess, startEngine } from '../integration/worker/harness.ts';
import type { PartAction } from './plan.ts';
import type { ChaosSettings, StoreKind } from './settings.ts';
import type { ShmMount } from './shm-mount.ts';

type Server = Pick<RunningServer, 'kill' | 'restart' | 'stop'>;
export type Behind = { readonly server: Server; readonly proxy: FaultProxy };

/** Long enough that there is nearly always a batch at the engine when something dies. */
const BATCH_MS = 60;
const TRITON_MODEL = 'nan_rows';
const DELAYS_MS = [20, 400] as const;

/** What the embedded engine is called after a restart is another process on the same port, with the same journal. */
class EmbeddedEngine implements Server {
  readonly #args: readonly string[];
  readonly #launcher: readonly string[];
  #process: EngineProcess;

  private constructor(process: EngineProcess, args: readonly string[], launcher: readonly string[]) {
    this.#process = process;
    this.#args = args;
    this.#launcher = launcher;
  }

  static async start(journal: string, launcher: readonly string[]): Promise<EmbeddedEngine> {
    const args = ['--synthetic', '--batch-ms', String(BATCH_MS), '--journal', journal];
    return new EmbeddedEngine(await startEngine(args, await freePort(), launcher), args, launcher);
  }

  get port(): number {
    return this.#process.grpcPort;
  }

  async kill(signal: KillSignal = 'SIGKILL'): Promise<void> {
    const { program } = this.#process;
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') program.signal(signal);
    else await program.stop(signal);
  }

  async restart(): Promise<void> {
    this.#process = await startEngine(this.#args, this.port, this.#launcher);
  }

  async stop(): Promise<void> {
    await this.#process.program.kill();
  }
}

export type Parts = Readonly<Record<'engine' | 'broker', Behind>> & {
  readonly kafka: RunningKafka;
  /** Undefined where the store is no server of its own: a topic of the broker, a folder. */
  readonly store: Behind | undefined;
  /** Of the store itself, past its proxy; of the broker when there is none. */
  readonly storePort: number;
  /** What workers are told: each address is that of a proxy. */
  readonly env: Readonly<Record<string, string>>;
};

export async function startParts(
  { engine, sink }: Pick<ChaosSettings, 'engine' | 'sink'>,
  journal: string,
  mount: ShmMount,
  onClose: (close: () => Promise<unknown>) => void,
): Promise<Parts> {
  const started = async <S extends { stop(): Promise<void> }>(server: Promise<S>): Promise<S> => {
    const running = await server;
    onClose(() => running.stop());
    return running;
  };
  const behind = async (server: Server, targetPort: number, port?: number): Promise<Behind> => {
    const proxy = await startProxy({ target: { port: targetPort }, ...(port === undefined ? {} : { port }) });
    onClose(() => proxy.close());
    return { server, proxy };
  };
  // The broker tells its clients where to go, so it has to know its proxy.
  const brokerProxyPort = await freePort();
  const kafka = await started(startKafka({ advertisedPort: brokerProxyPort }));
  const storeServer = await startStore(sink, started);
  const broker = await behind(kafka, kafka.proxiedPort, brokerProxyPort);
  const store = storeServer && (await behind(storeServer, storeServer.port));
  const shared = { kafka, store, storePort: storeServer?.port ?? kafka.port, broker };
  const env = (engineProxy: FaultProxy) => ({
    KAFKA_BOOTSTRAP_SERVERS: broker.proxy.address,
    RAG_SERVING_SINK: sink,
    ...addressOf(sink, store?.proxy.address),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: engineProxy.address,
  });
  if (engine === 'triton') {
    const triton = await started(startTriton({ models: [TRITON_MODEL] }));
    const engineBehind = await behind(triton, Number(triton.grpcUrl.split(':')[1]));
    return {
      ...shared,
      engine: engineBehind,
      env: { ...env(engineBehind.proxy), RAG_SERVING_MODEL_NAME: TRITON_MODEL },
    };
  }
  const embedded = await started(EmbeddedEngine.start(journal, mount.launcher));
  const engineBehind = await behind(embedded, embedded.port);
  return { ...shared, engine: engineBehind, env: env(engineBehind.proxy) };
}

async function startStore(
  sink: StoreKind,
  started: <S extends { stop(): Promise<void> }>(server: Promise<S>) => Promise<S>,
) {
  if (sink === 'redis') return started(startRedis({ appendonly: true }));
  return sink === 'pgvector' ? started(startPostgres()) : undefined;
}

/** Of the store that is not there nothing is told: workers would keep retries in such a Redis. */
function addressOf(sink: StoreKind, address: string | undefined): Readonly<Record<string, string>> {
  if (sink === 'redis') return { RAG_SERVING_REDIS_URL: `redis://${address}` };
  return sink === 'pgvector' ? { RAG_SERVING_PGVECTOR_URL: `postgres://postgres@${address}/postgres` } : {};
}

/** One fault of a part, from its beginning to its end. */
export async function sufferPart({ server, proxy }: Behind, action: PartAction, lastsMs: number): Promise<void> {
  switch (action) {
    case 'killed':
    case 'stopped':
      await server.kill(action === 'killed' ? 'SIGKILL' : 'SIGTERM');
      await sleep(lastsMs);
      return server.restart();
    case 'frozen':
      await server.kill('SIGSTOP');
      await sleep(lastsMs);
      return server.kill('SIGCONT');
    case 'cut off':
      await proxy.cut();
      await sleep(lastsMs);
      return proxy.restore();
    case 'black-holed':
      proxy.blackhole();
      await sleep(lastsMs);
      return proxy.restore();
    case 'delayed': {
      // Longer faults are milder: a round trip is two of these.
      const [least, most] = DELAYS_MS;
      proxy.delay(Math.max(least, most - lastsMs / 8));
      await sleep(lastsMs);
      return proxy.restore();
    }
  }
}
