/**
 * A real Kafka broker as jars from Maven Central, and an empty formatted log folder to copy.
 *
 * Maven checks each download against the repository's checksum (`-C`); the committed list of SHA-256 sums then pins every
 * jar, the indirect ones too. Formatting takes a second of Java, so it is done once here and not at each start.
 */
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { provision, type Report } from './cache.ts';
import { runCommand } from './command.ts';
import { classFlags } from './kafka-classes.ts';
import { findJava, INSTALL_JAVA, type Java, javaArguments } from './kafka-java.ts';
import { brokerSettings } from './kafka-settings.ts';
import { committedPath } from './package-root.ts';

export const KAFKA_VERSION = '4.4.0';
const INSTALL_MAVEN = 'fetching Kafka needs Maven: "apt-get install maven"';
const FETCH_TIMEOUT_MS = 10 * 60_000;
/** The same for every local broker: each is a cluster of its own that nothing else joins. */
const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qk';

export type KafkaProgram = {
  readonly java: Java;
  readonly libs: string;
  /** An empty log folder, to be copied. */
  readonly formatted: string;
  /** Java's flags for a quick start of this very program. */
  readonly flags: readonly string[];
};

/** Fetches what is missing. Throws DEPENDENCY_MISSING saying what to install. */
export async function kafkaProgram(report: Report): Promise<KafkaProgram> {
  const java = await findJava();
  const pins = await readFile(committedPath('scripts/stack/kafka-jars.sha256'), 'utf8');
  const pinned = createHash('sha256').update(pins).digest('hex').slice(0, 12);
  const folder = await provision(
    `kafka-${KAFKA_VERSION}-${pinned}`,
    (into) => fetchKafka(java, pins, into, report),
    report,
  );
  const [libs, formatted] = [join(folder, 'libs'), join(folder, 'formatted')];
  return { java, libs, formatted, flags: await classFlags(java, libs, formatted, report) };
}

/** Prepares an empty log folder by Kafka's own tool; `extra` are further arguments of it. */
export async function formatLogs(
  program: Pick<KafkaProgram, 'java' | 'libs'>,
  settings: string,
  extra: readonly string[],
): Promise<void> {
  const args = ['format', '-t', CLUSTER_ID, '-c', settings, ...extra];
  const command = javaArguments(program.libs, 'kafka.tools.StorageTool', args);
  await runCommand(program.java.executable, command, { install: INSTALL_JAVA, timeoutMs: 60_000 });
}

async function fetchKafka(java: Java, pins: string, into: string, report: Report): Promise<void> {
  const libs = join(into, 'libs');
  report(`kafka ${KAFKA_VERSION}: fetching 92 jars (54 MB) from Maven Central`);
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${libs}`];
  const pom = committedPath('scripts/stack/kafka-pom.xml');
  await runCommand('mvn', ['-B', '-C', '-f', pom, ...goal], {
    install: INSTALL_MAVEN,
    timeoutMs: FETCH_TIMEOUT_MS,
    onLine: (line) => {
      const jar = /Downloaded from .*\/([^/ ]+\.jar) /.exec(line)?.[1];
      if (jar !== undefined) report(`kafka ${KAFKA_VERSION}: ${jar}`);
    },
  });
  await checkJars(libs, pins);
  report(`kafka ${KAFKA_VERSION}: formatting an empty log folder`);
  const scratch = join(into, 'formatted');
  await mkdir(scratch);
  const settings = join(into, 'format.properties');
  await writeFile(settings, brokerSettings({ logDir: scratch, port: 1, controllerPort: 2, partitions: 1 }));
  await formatLogs({ java, libs }, settings, []);
}

/** Every pinned jar with its sum, and no other jar: one more on the class path could replace a class. */
async function checkJars(libs: string, pins: string): Promise<void> {
  const expected = new Map(
    pins
      .trim()
      .split('\n')
      .map((line) => [line.slice(66), line.slice(0, 64)] as const),
  );
  for (const jar of new Set([...expected.keys(), ...(await readdir(libs))])) {
    const sum = await readFile(join(libs, jar)).then(
      (bytes) => createHash('sha256').update(bytes).digest('hex'),
      () => 'missing',
    );
    if (sum === expected.get(jar)) continue;
    const wanted = expected.get(jar) ?? 'no such jar';
    throw new ServingError(
      'DEPENDENCY_MISSING',
      `${jar} is not what kafka-jars.sha256 pins: ${wanted} wanted, ${sum} found`,
    );
  }
}

/** A copy of the formatted, empty log folder. */
export async function layLogs(program: KafkaProgram, logDir: string): Promise<void> {
  await cp(program.formatted, logDir, { recursive: true });
}
