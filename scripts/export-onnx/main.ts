/** Command line of the export: signals, exit codes, errors for the person at the terminal. */
import { CommanderError } from 'commander';
import { isServingError } from '../../src/errors.ts';
import { cacheRoot } from '../stack/cache.ts';
import { exportCommand } from './command.ts';
import { runExport } from './run.ts';

const EXIT = { failed: 1, usage: 2, refused: 3, interrupted: 130 } as const;

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    stop.abort(new Error('interrupted'));
    process.exitCode = EXIT.interrupted;
  });
}

try {
  const program = exportCommand(async (options) => {
    const surroundings = { env: process.env, cacheDir: cacheRoot(), stderr: process.stderr };
    const report = await runExport(options, surroundings, stop.signal);
    if (!report.accepted) process.exitCode = EXIT.refused;
  });
  await program.exitOverride().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
  } else if (!stop.signal.aborted) {
    const cause = error instanceof Error && error.cause instanceof Error ? `\n  caused by: ${error.cause.message}` : '';
    process.stderr.write(`${isServingError(error) ? `${error.code}: ${error.message}` : String(error)}${cause}\n`);
    process.exitCode = isServingError(error, 'ARGUMENT_INVALID', 'CONFIG_INVALID') ? EXIT.usage : EXIT.failed;
  }
}
