/**
 * The library with the operators that a tokenizer graph needs, for the server to load: onnxruntime-extensions.
 *
 * It is taken out of the Java package, since the one of the Python wheel asks for symbols of Python and so cannot be loaded
 * by Triton. Maven checks the download; the sum pinned here is that of the library itself. It is for Linux on x86-64.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServingError } from '../../src/errors.ts';
import { provision, type Report } from '../stack/cache.ts';
import { runCommand } from '../stack/command.ts';

export const EXTENSIONS_VERSION = '0.13.0';
export const EXTENSIONS_SHA256 = '3b08d44f849f3400b338edbd147654c60d83cf704796967dcd4c21114e231d66';
/** Its name in a model folder. */
export const LIBRARY_FILE = 'libonnxruntime_extensions.so';

const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack';
const ARTIFACT = `com.microsoft.onnxruntime:onnxruntime-extensions:${EXTENSIONS_VERSION}`;
const MEMBER = 'ai/onnxruntime/extensions/native/linux-x64/libonnxruntime_extensions4j_jni.so';
const FETCH_TIMEOUT_MS = 5 * 60_000;

/** Path of the library in the cache, fetched when missing. Throws DEPENDENCY_MISSING saying what to install. */
export async function operatorLibrary(report: Report): Promise<string> {
  const name = `onnxruntime-extensions-${EXTENSIONS_VERSION}-${EXTENSIONS_SHA256.slice(0, 12)}`;
  return join(await provision(name, fetchLibrary, report), LIBRARY_FILE);
}

async function fetchLibrary(into: string, report: Report): Promise<void> {
  report(`onnxruntime-extensions ${EXTENSIONS_VERSION}: fetching its Java package (19 MB)`);
  const scratch = join(into, 'package');
  await mkdir(scratch);
  const options = [`-Dartifact=${ARTIFACT}`, `-Dmdep.unpack.includes=${MEMBER}`, `-DoutputDirectory=${scratch}`];
  await runCommand('mvn', ['-B', '-C', UNPACK, ...options], {
    install: 'fetching onnxruntime-extensions needs Maven: "apt-get install maven"',
    timeoutMs: FETCH_TIMEOUT_MS,
    cwd: scratch, // without a project Maven leaves its marks in the current folder
  });
  await checkLibrary(join(scratch, MEMBER));
  await rename(join(scratch, MEMBER), join(into, LIBRARY_FILE));
  await rm(scratch, { recursive: true });
}

/** Throws DEPENDENCY_MISSING for a library other than the pinned one. */
export async function checkLibrary(path: string): Promise<void> {
  const sum = await readFile(path).then(
    (bytes) => createHash('sha256').update(bytes).digest('hex'),
    () => 'missing',
  );
  if (sum === EXTENSIONS_SHA256) return;
  throw new ServingError(
    'DEPENDENCY_MISSING',
    `the operator library of onnxruntime-extensions ${EXTENSIONS_VERSION} is not the pinned one: ${EXTENSIONS_SHA256} wanted, ${sum} found`,
  );
}
