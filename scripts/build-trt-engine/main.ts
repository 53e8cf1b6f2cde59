/** Command line of the engine build: signals, exit codes, errors for the person at the terminal. */
import { CommanderError } from 'commander';
import { type ErrorCode, isServingError } from '../../src/errors.ts';
import { buildCommand } from './command.ts';
import { runBuild } from './run.ts';

const EXIT = { failed: 1, usage: 2, refused: 3, interrupted: 130 } as const;
const EXIT_OF: Partial<Record<ErrorCode, number>> = {
  ARGUMENT_INVALID: EXIT.usage,
  CONFIG_INVALID: EXIT.usage,
  ENGINE_MODEL_INVALID: EXIT.refused,
};

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    stop.abort(new Error('interrupted'));
    process.exitCode = EXIT.interrupted;
  });
}

try {
  const program = buildCommand(async (options) => {
    const { env, stdout, stderr } = process;
    await runBuild(options, { env, stdout, stderr }, stop.signal);
  });
  await program.exitOverride().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage;
  } else if (!stop.signal.aborted) {
    const cause = error instanceof Error && error.cause instanceof Error ? `\n  caused by: ${error.cause.message}` : '';
    process.stderr.write(`${isServingError(error) ? `${error.code}: ${error.message}` : String(error)}${cause}\n`);
    process.exitCode = isServingError(error) ? (EXIT_OF[error.code] ?? EXIT.failed) : EXIT.failed;
  }
}
