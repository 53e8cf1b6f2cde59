/**
 * SIGTERM and SIGINT of a program: the first asks it to stop, every further one asks it to hurry. None of them ends the
 * process: a commit is never cut in half by an impatient second signal, nor an exit code lost to one that comes when all is
 * done and the process is just about to end. So the listeners stay.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export type StopSignals = {
  /** Aborts at the first signal. */
  readonly stopping: AbortSignal;
  /** The signal that came first, for the log. */
  readonly received: () => NodeJS.Signals | undefined;
  /** Called at each further signal; at once when one has come already. */
  onHurry(listener: () => void): void;
};

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export function listenForStop(): StopSignals {
  const abort = new AbortController();
  const listeners: (() => void)[] = [];
  let first: NodeJS.Signals | undefined;
  let hurried = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (first === undefined) {
      first = signal;
      abort.abort(new Error(`received ${signal}`));
    } else {
      hurried = true;
      for (const listener of listeners) listener();
    }
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    stopping: abort.signal,
    received: () => first,
    onHurry: (listener) => {
      listeners.push(listener);
      if (hurried) listener();
    },
  };
}

/** Keeps the process alive meanwhile, whatever else is open: a worker without partitions has nothing else to do. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await sleep(60_000, undefined, { signal }).catch(() => {});
}
