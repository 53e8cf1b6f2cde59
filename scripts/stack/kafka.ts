/**
 * Starts a real Kafka broker on 127.0.0.1, without Docker: `startKafka()` resolves when producers, consumers and groups work.
 *
 * One KRaft node that is broker and controller. The data is a temporary folder unless `dir` names one to keep.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import type { Report } from './cache.ts';
import { dataFolder } from './data-folder.ts';
import { freePort } from './free-port.ts';
import { formatLogs, kafkaProgram, layLogs } from './kafka-jars.ts';
import { javaArguments } from './kafka-java.ts';
import { askBroker } from './kafka-ready.ts';
import { brokerSettings, type KafkaLayout, type KafkaSecurity, SCRAM_MECHANISMS } from './kafka-settings.ts';
import { type RunningServer, startServer } from './server-process.ts';

export type KafkaOptions = KafkaSecurity & {
  /** Folder of data to keep; a temporary one that `stop` removes unless given. */
  readonly dir?: string;
  readonly port?: number;
  /** Partitions of a topic that is created without a number; 1 unless given. */
  readonly partitions?: number;
  readonly maxMessageBytes?: number;
  /** Opens a further listener whose clients are sent on to this port of 127.0.0.1, where a proxy must listen; see `proxiedPort`. */
  readonly advertisedPort?: number;
  /** Further broker settings by their own names, e.g. `log.retention.ms`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Lets Java compile for sustained load, e.g. for benchmarks; the start then costs twice the processor time. */
  readonly sustained?: boolean;
  /** Takes progress lines of a first-time fetch. */
  readonly onLine?: Report;
};

export type RunningKafka = RunningServer & {
  /** host:port of the plain listener. */
  readonly bootstrapServers: string;
  readonly port: number;
  /** host:port of the listener with SASL and/or TLS; empty unless `sasl` or `tls` was given. */
  readonly securedServers: string;
  /** Port behind the proxy; 0 unless `advertisedPort` was given. */
  readonly proxiedPort: number;
};

const QUICK = ['-XX:TieredStopAtLevel=1'];
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

export async function startKafka(options: KafkaOptions = {}): Promise<RunningKafka> {
  const program = await kafkaProgram(options.onLine ?? (() => undefined));
  checkSasl(options);
  const dataDir = await dataFolder('kafka', options.dir);
  const logDir = join(dataDir, 'logs');
  const port = options.port ?? (await freePort());
  const proxiedPort = options.advertisedPort === undefined ? 0 : await freePort();
  const securedPort = options.sasl === undefined && options.tls === undefined ? 0 : await freePort();
  const controllerPort = await freePort();
  const layout: KafkaLayout = {
    ...options,
    logDir,
    port,
    controllerPort,
    partitions: options.partitions ?? 1,
    ...(options.advertisedPort === undefined
      ? {}
      : { proxied: { port: proxiedPort, advertisedPort: options.advertisedPort } }),
    ...(securedPort === 0 ? {} : { securedPort }),
  };
  const settings = join(dataDir, 'server.properties');
  const bootstrapServers = `127.0.0.1:${port}`;
  const server = await startServer({
    name: 'kafka',
    command: program.java.executable,
    args: javaArguments(
      program.libs,
      'kafka.Kafka',
      [settings],
      // A broker that is killed leaves its unpacked native libraries; in its own folder they go with it.
      [...program.flags, ...(options.sustained ? [] : QUICK), `-Djava.io.tmpdir=${dataDir}`],
    ),
    ports: [port, controllerPort, proxiedPort, securedPort].filter((each) => each !== 0),
    dataDir,
    keepData: options.dir !== undefined,
    prepare: async () => {
      await writeFile(settings, brokerSettings(layout));
      if (existsSync(join(logDir, 'meta.properties'))) return;
      // SCRAM credentials live in the broker's own log: only formatting can put them there before it starts.
      if (options.sasl === undefined) await layLogs(program, logDir);
      else await formatLogs(program, settings, scramUsers(options.sasl));
    },
    probe: () => askBroker(bootstrapServers),
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
  return Object.assign(server, {
    bootstrapServers,
    port,
    proxiedPort,
    securedServers: securedPort === 0 ? '' : `127.0.0.1:${securedPort}`,
  });
}

/** The name and password go into a JAAS line and a tool's argument, neither of which we quote for. */
function checkSasl({ sasl }: KafkaSecurity): void {
  if (sasl === undefined || (/^\w+$/.test(sasl.username) && /^[\w-]+$/.test(sasl.password))) return;
  throw new ServingError(
    'ARGUMENT_INVALID',
    'sasl: username and password may hold only letters, digits, "_" and, the password, "-"',
  );
}

function scramUsers({ username, password }: NonNullable<KafkaSecurity['sasl']>): string[] {
  return SCRAM_MECHANISMS.flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${username},password=${password}]`,
  ]);
}
