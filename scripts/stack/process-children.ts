/** Children of a server that left its process group, as the sessions of PostgreSQL do: found by their parent, signalled one by one. */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const GONE_WITHIN_MS = 5_000;

export async function childrenOf(pid: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(statOf));
  return pids.filter((_, index) => stats[index]?.parent === pid);
}

/** After SIGKILL it resolves when all are gone. */
export async function signalAll(pids: readonly number[], signal: NodeJS.Signals): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It is gone already.
    }
  }
  if (signal !== 'SIGKILL') return;
  for (const until = performance.now() + GONE_WITHIN_MS; performance.now() < until; await sleep(10)) {
    const stats = await Promise.all(pids.map(statOf));
    // A zombie holds nothing any more: nobody may ever ask for its exit code.
    if (stats.every((stat) => stat === undefined || stat.state === 'Z')) return;
  }
}

async function statOf(pid: number): Promise<{ readonly state: string; readonly parent: number } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state, parent: Number(parent) };
}
