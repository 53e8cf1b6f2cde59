/** The Java that runs the broker and its tools: where it is, whether it is new enough, and its flags for a small, quick start. */
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { runCommand } from './command.ts';

const LEAST_JAVA = 17;
export const INSTALL_JAVA = `Kafka needs Java ${LEAST_JAVA} or newer: "apt-get install openjdk-17-jre-headless", or set JAVA_HOME`;

const FLAGS = [
  '-Xms96m',
  '-Xmx256m',
  '-Xss512k',
  '-XX:+UseSerialGC',
  '-XX:MaxMetaspaceSize=160m',
  '-XX:ReservedCodeCacheSize=96m',
  '-Xshare:auto',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
];

export type Java = {
  readonly executable: string /** All that it says of itself; an archive of classes fits only this one. */;
  readonly version: string;
};

/** `JAVA_HOME`'s or the PATH's. Throws DEPENDENCY_MISSING saying what to install. */
export async function findJava(): Promise<Java> {
  const executable = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java';
  const version = await runCommand(executable, ['-version'], { install: INSTALL_JAVA, timeoutMs: 30_000 });
  const major = Number(/version "(\d+)/.exec(version)?.[1]);
  if (major >= LEAST_JAVA) return { executable, version };
  const found = version.split('\n')[0] ?? 'unknown';
  throw new ServingError('DEPENDENCY_MISSING', `${executable} is ${found}: ${INSTALL_JAVA}`);
}

/** Arguments of java that run `main` from the jars in `libs`; `flags` come before. */
export function javaArguments(
  libs: string,
  main: string,
  args: readonly string[],
  flags: readonly string[] = [],
): string[] {
  return [...FLAGS, ...flags, '-cp', join(libs, '*'), main, ...args];
}
