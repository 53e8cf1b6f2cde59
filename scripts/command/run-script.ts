/** What every script's command line does the same: signals, exit codes, errors for the person at the terminal. */
import { type Command, CommanderError } from 'commander';
import { type ErrorCode, isServingError } from '../../src/errors.ts';

export const exitCodes = { failed: 1, usage: 2, refused: 3, interrupted: 130 } as const;

const EXIT_OF: Partial<Record<ErrorCode, number>> = {
  ARGUMENT_INVALID: exitCodes.usage,
  CONFIG_INVALID: exitCodes.usage,
};

/**
 * `programOf` gets the signal that Ctrl-C aborts, and its action must end soon after. Sets the process's exit code; never
 * rejects.
 * @param more exit codes of errors that mean something else for this script
 */
export async function runScript(
  programOf: (signal: AbortSignal) => Command,
  more: Partial<Record<ErrorCode, number>> = {},
): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      stop.abort(new Error('interrupted'));
      process.exitCode = exitCodes.interrupted;
    });
  }
  try {
    await programOf(stop.signal).exitOverride().parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
    } else if (!stop.signal.aborted) {
      process.stderr.write(`${told(error)}\n`);
      process.exitCode = isServingError(error)
        ? ({ ...EXIT_OF, ...more }[error.code] ?? exitCodes.failed)
        : exitCodes.failed;
    }
  }
}

function told(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `\n  caused by: ${error.cause.message}` : '';
  return `${isServingError(error) ? `${error.code}: ${error.message}` : String(error)}${cause}`;
}
