/** Which process holds something, so that another one can tell whether it still lives: a pid alone is used again. */
import { readFile, readlink } from 'node:fs/promises';
import { z } from 'zod';

export const identitySchema = z.object({
  pid: z.number().int(),
  /** Ticks since boot at which it began. */
  began: z.string(),
  /** Boot and process namespace: pids of another one mean nothing here. */
  world: z.string(),
});

export type ProcessIdentity = z.infer<typeof identitySchema>;

export async function ownIdentity(): Promise<ProcessIdentity> {
  const { pid } = process;
  return { pid, began: (await beganAt(pid)) ?? 'unknown', world: await ownWorld() };
}

/** 'unknown': it belongs to another machine, container or boot. */
export async function stateOf({ pid, began, world }: ProcessIdentity): Promise<'alive' | 'gone' | 'unknown'> {
  if (world === '' || world !== (await ownWorld())) return 'unknown';
  return (await beganAt(pid)) === began ? 'alive' : 'gone';
}

async function beganAt(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

async function ownWorld(): Promise<string> {
  try {
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    return `${boot} ${await readlink('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}
