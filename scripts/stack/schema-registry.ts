/**
 * A real schema registry on 127.0.0.1: Apicurio from Maven Central, which speaks Confluent's API.
 *
 * Its newest versions need Java 21, so it is the last one that runs on 17, as Kafka does. Schemas are kept in memory: after a
 * kill they are gone, and a registry that is only to be away for a while is frozen (SIGSTOP, SIGCONT).
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { provision, type Report } from './cache.ts';
import { runCommand } from './command.ts';
import { dataFolder } from './data-folder.ts';
import { freePort } from './free-port.ts';
import { findJava } from './kafka-java.ts';
import { checkSum } from './maven.ts';
import { type RunningServer, startServer } from './server-process.ts';

export const SCHEMA_REGISTRY_VERSION = '2.6.13.Final';
const NAME = `apicurio-registry-app-${SCHEMA_REGISTRY_VERSION}`;
const SHA256 = '3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba';
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const FETCH_TIMEOUT_MS = 10 * 60_000;
const READY_TIMEOUT_MS = 90_000;
const PROBE_TIMEOUT_MS = 2_000;

const FLAGS = [
  '-Xms96m',
  '-Xmx300m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Dquarkus.http.host=127.0.0.1',
  '-Dquarkus.log.level=WARN',
];

export type SchemaRegistryOptions = { readonly port?: number; readonly onLine?: Report };

/** `url`: the base of Confluent's API. */
export type RunningSchemaRegistry = RunningServer & { readonly url: string };

/** The folder of its jars, fetched when missing. Throws DEPENDENCY_MISSING saying what to install. */
export async function schemaRegistryProgram(report: Report): Promise<string> {
  return await provision(
    `${NAME}-${SHA256.slice(0, 12)}`,
    async (into) => {
      report(`schema registry ${SCHEMA_REGISTRY_VERSION}: fetching it (142 MB) from Maven Central`);
      const artifact = `io.apicurio:apicurio-registry-app:${SCHEMA_REGISTRY_VERSION}:tar.gz:all`;
      await runCommand('mvn', ['-B', '-C', `${PLUGIN}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${into}`], {
        install: 'fetching a schema registry needs Maven: "apt-get install maven"',
        timeoutMs: FETCH_TIMEOUT_MS,
        cwd: into,
      });
      const archive = join(into, `${NAME}-all.tar.gz`);
      await checkSum(archive, SHA256, 'the schema registry');
      await runCommand('tar', ['-xzf', archive, '-C', into], { install: 'install tar', timeoutMs: FETCH_TIMEOUT_MS });
      await rm(archive);
    },
    report,
  );
}

export async function startSchemaRegistry(options: SchemaRegistryOptions = {}): Promise<RunningSchemaRegistry> {
  const java = await findJava();
  const folder = await schemaRegistryProgram(options.onLine ?? (() => undefined));
  const dataDir = await dataFolder('schema-registry', undefined);
  const port = options.port ?? (await freePort());
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  const server = await startServer({
    name: 'schema-registry',
    command: java.executable,
    args: [
      ...FLAGS,
      `-Djava.io.tmpdir=${join(dataDir, 'tmp')}`,
      `-Dquarkus.http.port=${port}`,
      '-jar',
      join(folder, `${NAME}-runner.jar`),
    ],
    ports: [port],
    dataDir,
    prepare: async () => void (await mkdir(join(dataDir, 'tmp'), { recursive: true })),
    probe: async () => {
      const response = await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
      if (!response.ok) throw new Error(`answers ${response.status}`);
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopTimeoutMs: 15_000,
  });
  return Object.assign(server, { url });
}
