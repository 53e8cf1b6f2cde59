/** What the process answers to the shell, the same for every command. */
import { isServingError } from '../src/errors.ts';

export const exitCodes = {
  /** Done, or drained after a signal. */
  done: 0,
  failed: 1,
  /** Wrong usage or wrong settings: nothing was started. */
  usage: 2,
  /** Stopped with work not finished; nothing is lost. */
  unfinished: 3,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What `models check` found, for rollouts and probes: 1 may be tried again later, 3 is not to be rolled out. */
export const checkExitCodes = { equal: exitCodes.done, unchecked: exitCodes.failed, differs: 3 } as const;

export const EXIT_CODES_HELP = `
Exit codes: 0 done, or drained after a signal; 1 failed; 2 wrong usage or settings;
3 stopped with work not finished (nothing is lost: run it again); of models check: the model differs.`;

export function exitCodeOf(error: unknown): ExitCode {
  if (isServingError(error, 'CONFIG_INVALID', 'ARGUMENT_INVALID')) return exitCodes.usage;
  return isServingError(error, 'DRAIN_TIMEOUT') ? exitCodes.unfinished : exitCodes.failed;
}
