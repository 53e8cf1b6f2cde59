/** What a server may leave behind: processes, temporary folders, files in /dev/shm. For tests that it leaves nothing. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** False for a zombie too: it has ended, and only its parent has not asked for its exit code. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** Running processes, this one aside, whose command line holds every text. */
export function processesWith(...texts: string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isRunning(pid) && texts.every((text) => commandLine(pid).includes(text)));
}

export function shmFilesWith(prefix: string): string[] {
  return readdirSync('/dev/shm').filter((name) => name.startsWith(prefix));
}

/** Waits until the condition holds, at most `timeoutMs`; the last answer. */
export async function eventually(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  for (const until = Date.now() + timeoutMs; Date.now() < until; await sleep(50)) if (condition()) return true;
  return condition();
}

export type Traces = { readonly pid: number; readonly dataDir: string; readonly shmPrefix?: string };

/** What is still there of a server, in words; empty when nothing is. */
export function tracesOf({ pid, dataDir, shmPrefix }: Traces): string[] {
  return [
    ...(isRunning(pid) ? [`process ${pid}`] : []),
    ...processesWith(dataDir).map((other) => `process ${other} that names ${dataDir}`),
    ...(existsSync(dataDir) ? [dataDir] : []),
    ...(shmPrefix === undefined ? [] : shmFilesWith(shmPrefix)),
    ...(shmPrefix === undefined ? [] : processesWith(shmPrefix).map((other) => `process ${other} of ${shmPrefix}`)),
  ];
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
