/**
 * Java packages as places to fetch files from: one whole jar, or some of what is in it.
 *
 * Maven checks a download against the repository's sum (`-C`); what is taken is pinned by a sum of its own beside that.
 */
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { sha256OfFile } from '../../src/sha256-file.ts';
import { provision, type Report } from './cache.ts';
import { runCommand } from './command.ts';

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const FETCH_TIMEOUT_MS = 10 * 60_000;

export type JarFiles = {
  /** group:artifact:version */
  readonly artifact: string;
  /** What is fetched, for progress and for errors. */
  readonly what: string;
  readonly files: readonly JarFile[];
};

export type JarFile = {
  /** Its path in the jar; undefined is the jar itself. */
  readonly member?: string;
  /** Its name in the cache. */
  readonly name: string;
  readonly sha256: string;
};

/** The cache folder that holds the files, fetched when missing. Throws DEPENDENCY_MISSING saying what to install. */
export async function jarFiles({ artifact, what, files }: JarFiles, report: Report): Promise<string> {
  const [, id, version] = artifact.split(':');
  const pins = files.map(({ sha256 }) => sha256.slice(0, 12)).join('-');
  return await provision(
    `${id}-${version}-${pins}`,
    async (into) => {
      report(`${what}: fetching its Java package`);
      const scratch = join(into, 'package');
      await mkdir(scratch);
      await fetchPackage(artifact, files, scratch, what);
      for (const file of files) {
        const path = join(scratch, file.member ?? `${id}-${version}.jar`);
        await checkSum(path, file.sha256, what);
        await rename(path, join(into, file.name));
      }
      await rm(scratch, { recursive: true });
    },
    report,
  );
}

async function fetchPackage(artifact: string, files: readonly JarFile[], into: string, what: string): Promise<void> {
  const members = files.flatMap(({ member }) => member ?? []);
  const goals = [
    ...(members.length < files.length ? [['copy']] : []),
    ...(members.length > 0 ? [['unpack', `-Dmdep.unpack.includes=${members.join(',')}`]] : []),
  ];
  for (const [goal, ...options] of goals) {
    const where = [`-Dartifact=${artifact}`, `-DoutputDirectory=${into}`];
    await runCommand('mvn', ['-B', '-C', `${PLUGIN}:${goal}`, ...where, ...options], {
      install: `fetching ${what} needs Maven: "apt-get install maven"`,
      timeoutMs: FETCH_TIMEOUT_MS,
      cwd: into, // without a project Maven leaves its marks in the current folder
    });
  }
}

/** Throws DEPENDENCY_MISSING for a file other than the pinned one. */
export async function checkSum(path: string, sha256: string, what: string): Promise<void> {
  const found = await sha256OfFile(path).catch(() => 'missing');
  if (found === sha256) return;
  throw new ServingError('DEPENDENCY_MISSING', `${what} is not the pinned one: ${sha256} wanted, ${found} found`);
}
