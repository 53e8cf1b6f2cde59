#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=131072 node
/**
 * The program `rag-serving`: hands the process to the command line, and its answer to the shell.
 *
 * The setting in its first line makes glibc give large buffers back to the system when they are freed. An allocator can be
 * told so only before the process starts (docs/decisions/lancedb-memory.md).
 */
import { packageVersion } from '../src/package-version.ts';
import { runCommandLine } from './command-line.ts';
import { exitCodes } from './exit-codes.ts';
import { printError } from './print-error.ts';

/** What a command left open (a socket, a pool) may close by itself for so long; then the process ends all the same. */
const LINGER_MS = 2_000;

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    // State is unknown from here on: no drain, no commit. What was not committed is read again.
    printError(error, process.env, process.stderr);
    process.exit(exitCodes.failed);
  });
}
// Until a command has a log whose level it switches, and where it has none, the signal must not end the process.
process.on('SIGUSR2', () => {});
// A reader that went away (`| head`) is no reason to stop the work.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

// LanceDB writes warnings to standard error by itself, past our redaction, and quotes addresses with their passwords in them.
process.env.LANCEDB_LOG ??= 'off';
// The AWS SDK tells Node 20 that a version of it to come will not run there; the one that is installed does.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

const code = await runCommandLine({
  args: process.argv.slice(2),
  env: process.env,
  version: packageVersion(),
  stdout: process.stdout,
  stderr: process.stderr,
});
if (code !== undefined) process.exitCode = code;
// Nothing is left to do. A process that just ends takes its signal handlers down some moments before it is gone, and a
// second SIGTERM in between would kill it and take the exit code's place; `exit` ends it with the handlers still there.
process.once('beforeExit', () => process.exit());
setTimeout(() => process.exit(), LINGER_MS).unref();
