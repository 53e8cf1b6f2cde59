/** Asks the person at the terminal before something that cannot be taken back. Where there is nobody to ask, `--yes` must say it. */
import { createInterface } from 'node:readline/promises';
import { ServingError } from '../../src/errors.ts';

/** False when the answer was anything but yes. */
export async function isConfirmed(question: string, yes: boolean, signal: AbortSignal): Promise<boolean> {
  if (yes) return true;
  refuseSilence(yes);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // On a terminal Ctrl-C is a key like any other while a question is open, and an end of input answers nothing.
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `, { signal }), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

/** For before the work begins: a script should not wait for a question that nobody will answer. */
export function refuseSilence(yes: boolean): void {
  if (yes || (process.stdin.isTTY === true && process.stderr.isTTY === true)) return;
  throw new ServingError(
    'ARGUMENT_INVALID',
    'nobody is there to confirm it: add --yes, or --dry-run to see what would be done',
  );
}
