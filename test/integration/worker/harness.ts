/** The whole product as processes: engine and worker from dist/, a topic of their own, and what a test asks of them. */
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Exit, killAllPrograms, type LogLine, Program } from '../../../scripts/stack/program.ts';
import { KafkaAdmin } from '../../../src/kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../../src/kafka/client.ts';
import { KafkaProducer, type OutgoingMessage } from '../../../src/kafka/producer.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

export type Env = Readonly<Record<string, string>>;

export type EngineProcess = {
  readonly program: Program;
  readonly target: string;
  readonly grpcPort: number;
  readonly httpPort: number;
};

/** `rag-serving engine`, synthetic unless told otherwise. Ports are free ones unless given. */
export async function startEngine(
  args: readonly string[] = ['--synthetic'],
  grpcPort = 0,
  launcher: readonly string[] = [],
): Promise<EngineProcess> {
  const ports = ['--grpc-port', String(grpcPort), '--http-port', '0', '--metrics-port', '0'];
  const program = new Program(['engine', ...ports, ...args], {}, launcher);
  const ready = await program.line(({ event }) => event === 'engine ready', 120_000);
  const port = Number(ready.grpcPort);
  return { program, target: `127.0.0.1:${port}`, grpcPort: port, httpPort: Number(ready.httpPort) };
}

export class WorkerProcess {
  readonly program: Program;
  readonly port: number;

  constructor(program: Program, port: number) {
    this.program = program;
    this.port = port;
  }

  get log(): readonly LogLine[] {
    return this.program.lines;
  }

  /** A worker that has ended says why: its last lines are in the error. */
  async #get(path: string): Promise<Response> {
    try {
      return await fetch(`http://127.0.0.1:${this.port}/${path}`, { signal: AbortSignal.timeout(5_000) });
    } catch (cause) {
      if (this.program.running) throw cause;
      throw new Error(`the worker has ended:\n${this.program.output.slice(-4_000)}`, { cause });
    }
  }

  async ready(): Promise<{ readonly status: number; readonly body: ReadyBody }> {
    const response = await this.#get('ready');
    return { status: response.status, body: (await response.json()) as ReadyBody };
  }

  /** Sum of the series whose line holds every given label, e.g. `metric('rag_serving_chunks_total', 'outcome="persisted"')`. */
  async metric(name: string, ...labels: readonly string[]): Promise<number> {
    const lines = (await (await this.#get('metrics')).text()).split('\n');
    return lines
      .filter((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** What a path of the ops server answers, whole. */
  async page(path: string): Promise<string> {
    return (await this.#get(path)).text();
  }

  stop(signal: NodeJS.Signals = 'SIGTERM', timeoutMs?: number): Promise<Exit> {
    return this.program.stop(signal, timeoutMs);
  }
}

export type ReadyBody = {
  readonly status: string;
  readonly phase: string;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly reason?: string }[];
};

const workerIds = new Set<string>();

/** For `afterEach`: kills every program of this test file, and removes the shared memory that a killed worker leaves behind. */
export async function endPrograms(): Promise<void> {
  await killAllPrograms();
  const left = readdirSync('/dev/shm').filter((name) => [...workerIds].some((id) => name.startsWith(`rag-${id}-`)));
  for (const name of left) rmSync(join('/dev/shm', name), { force: true });
}

/** Resolves when the ops server listens; the worker may still wait for its model server. */
export async function startWorker(env: Env, launcher: readonly string[] = []): Promise<WorkerProcess> {
  const id = env.RAG_SERVING_WORKER_ID ?? `test-${randomBytes(4).toString('hex')}`;
  workerIds.add(id);
  const settings = {
    RAG_SERVING_WORKER_ID: id,
    RAG_SERVING_SERVER_HOST: '127.0.0.1',
    RAG_SERVING_SERVER_PORT: '0',
    RAG_SERVING_COMMIT_INTERVAL_MS: '500',
    ...env,
  };
  const program = new Program(['worker'], settings, launcher);
  const { port } = await program.line(({ msg }) => msg === 'ops server listens');
  return new WorkerProcess(program, Number(port));
}

/** A topic and a group of a test's own, and the clients to fill it and look at it. */
export class TestTopic {
  readonly topic = `rag.test.${randomBytes(4).toString('hex')}`;
  readonly group = `group-${this.topic}`;
  readonly client: KafkaClient;
  readonly admin: KafkaAdmin;
  readonly #producer: KafkaProducer;

  constructor(bootstrapServers: string) {
    this.client = createKafkaClient({
      bootstrapServers: bootstrapServers.split(','),
      sasl: undefined,
      tls: undefined,
      clientId: 'test',
      log: silentLog,
    });
    this.admin = new KafkaAdmin(this.client);
    this.#producer = new KafkaProducer({ client: this.client });
  }

  create(partitions: number): Promise<boolean> {
    return this.admin.ensureTopic(this.topic, { partitions });
  }

  /** Settings of a worker on this topic. */
  env(bootstrapServers: string): Env {
    return { KAFKA_BOOTSTRAP_SERVERS: bootstrapServers, KAFKA_TOPIC: this.topic, KAFKA_CONSUMER_GROUP: this.group };
  }

  async send(messages: readonly OutgoingMessage[]): Promise<void> {
    for (let from = 0; from < messages.length; from += 1_000) {
      await this.#producer.send(this.topic, messages.slice(from, from + 1_000));
    }
  }

  async lag(): Promise<number> {
    return (await this.admin.lag(this.group, this.topic)).reduce((sum, { lag }) => sum + Number(lag), 0);
  }

  untilLagZero(timeoutMs = 60_000): Promise<void> {
    return eventually(`lag 0 of ${this.topic}`, async () => (await this.lag()) === 0, timeoutMs, 250);
  }

  async close(): Promise<void> {
    await Promise.all([this.#producer.close(), this.admin.close()]);
  }
}

export type TestChunk = { readonly chunkId: string; readonly documentId: string; readonly text: string };

export function chunkMessage({ chunkId, documentId, text }: TestChunk, more: object = {}): OutgoingMessage {
  return {
    key: documentId,
    value: JSON.stringify({ chunk_id: chunkId, document_id: documentId, text, ...more }),
  };
}

/** Polls until the answer is true; a probe that throws counts as false. The message of the failure names what was awaited. */
export async function eventually(
  what: string,
  probe: () => Promise<boolean> | boolean,
  timeoutMs = 30_000,
  everyMs = 50,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      if (await probe()) return;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause: last });
    await sleep(everyMs);
  }
}
