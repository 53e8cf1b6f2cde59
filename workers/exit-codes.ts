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

export const EXIT_CODES_HELP = `
Exit codes: 0 done, or drained after a signal; 1 failed; 2 wrong usage or settings;
3 stopped with work not finished (nothing is lost: run it again).`;

export function exitCodeOf(error: unknown): ExitCode {
  if (isServingError(error, 'CONFIG_INVALID', 'ARGUMENT_INVALID')) return exitCodes.usage;
  return isServingError(error, 'DRAIN_TIMEOUT') ? exitCodes.unfinished : exitCodes.failed;
}
