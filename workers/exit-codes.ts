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

/** As `--help` and docs/exit-codes.md say it. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'done, or drained after a signal',
  failed: 'failed',
  usage: 'wrong usage or settings',
  unfinished: 'stopped with work not finished (nothing is lost: run it again)',
};

/** What `models check` found, for rollouts and probes: 1 may be tried again later, 3 is not to be rolled out. */
export const checkExitCodes = { equal: exitCodes.done, unchecked: exitCodes.failed, differs: 3 } as const;

export const EXIT_CODES_HELP = `
Exit codes: ${said('done')}; ${said('failed')}; ${said('usage')};
${said('unfinished')}; of models check: the model differs.`;

function said(name: keyof typeof exitCodes): string {
  return `${exitCodes[name]} ${exitCodeMeanings[name]}`;
}

export function exitCodeOf(error: unknown): ExitCode {
  if (isServingError(error, 'CONFIG_INVALID', 'ARGUMENT_INVALID')) return exitCodes.usage;
  return isServingError(error, 'DRAIN_TIMEOUT') ? exitCodes.unfinished : exitCodes.failed;
}
