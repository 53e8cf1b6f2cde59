/** A tool that ends in order when it is interrupted: the first signal aborts its work, the second does not wait for it. */
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { listenForStop } from '../signals.ts';

export async function interruptible(work: (signal: AbortSignal) => Promise<ExitCode>): Promise<ExitCode> {
  const signals = listenForStop();
  const hurried = new Promise<'hurried'>((resolve) => signals.onHurry(() => resolve('hurried')));
  try {
    const end = await Promise.race([work(signals.stopping), hurried]);
    if (end !== 'hurried') return end;
    process.stderr.write('interrupted twice: did not wait for what was on its way\n');
  } catch (error) {
    if (!signals.stopping.aborted) throw error;
    process.stderr.write('interrupted\n');
  }
  return exitCodes.unfinished;
}
