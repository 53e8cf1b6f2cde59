/**
 * A /dev/shm of a chaos run's own: a mount namespace with a small tmpfs in it, which can be filled to the brim without
 * taking a byte from anybody else. It lasts as long as the shell that holds it, and the shell as long as we do.
 *
 * Making one takes the right to mount (root, CAP_SYS_ADMIN). Where that is missing the machine's own /dev/shm serves, and
 * nothing fills it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type ShmMount = {
  /** Where this process reaches it. */
  readonly folder: string;
  /** Command prefix that runs a program inside. */
  readonly launcher: readonly string[];
  readonly isFull: boolean;
  /** Undefined where the mount is not ours to fill. */
  readonly fill: (() => void) | undefined;
  empty(): void;
  close(): Promise<void>;
};

const FILLER = 'filler';
const ZEROS = Buffer.alloc(1 << 20);

/** That of everybody on this machine. */
export const machineShm: ShmMount = {
  folder: '/dev/shm',
  launcher: [],
  isFull: false,
  fill: undefined,
  empty: () => undefined,
  close: async () => undefined,
};

export async function ownShmMount(sizeMiB: number, onRefused: (why: string) => void): Promise<ShmMount> {
  const script = `mount -t tmpfs -o size=${sizeMiB}m,mode=1777 tmpfs /dev/shm && echo mounted && exec cat`;
  const holder = spawn('unshare', ['--mount', '--', 'sh', '-c', script], { stdio: ['pipe', 'pipe', 'pipe'] });
  const said: string[] = [];
  createInterface({ input: holder.stderr }).on('line', (line) => said.push(line));
  const ended = once(holder, 'close').catch((error: Error) => said.push(error.message));
  const mounted = await Promise.race([
    once(createInterface({ input: holder.stdout }), 'line'),
    ended.then(() => undefined),
  ]);
  if (mounted !== undefined) return new OwnMount(holder, ended);
  onRefused(said.join('; '));
  return machineShm;
}

class OwnMount implements ShmMount {
  readonly folder: string;
  readonly launcher: readonly string[];
  readonly #holder: ChildProcess;
  readonly #ended: Promise<unknown>;
  #full = false;

  constructor(holder: ChildProcess, ended: Promise<unknown>) {
    this.#holder = holder;
    this.#ended = ended;
    this.folder = `/proc/${holder.pid}/root/dev/shm`;
    this.launcher = ['nsenter', '--target', String(holder.pid), '--mount', '--'];
  }

  get isFull(): boolean {
    return this.#full;
  }

  readonly fill = (): void => {
    this.#full = true;
    const file = openSync(join(this.folder, FILLER), 'w');
    try {
      // The last write is cut short, the one after it is refused.
      for (;;) writeSync(file, ZEROS);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  };

  empty(): void {
    rmSync(join(this.folder, FILLER), { force: true });
    this.#full = false;
  }

  async close(): Promise<void> {
    this.#holder.stdin?.end();
    await this.#ended;
  }
}

/**
 * Files of these workers that no living process holds: regions that none of `pids` has mapped, sockets that nobody listens
 * on. What the model server still maps of a dead worker counts as left.
 */
export function abandonedFiles(folder: string, prefix: string, pids: readonly number[]): string[] {
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix));
  if (names.length === 0) return [];
  const mapped = pids.map((pid) => readFileSync(`/proc/${pid}/maps`, 'utf8')).join('\n');
  const listening = readFileSync('/proc/net/unix', 'utf8');
  const isHeld = (name: string) => (name.endsWith('.owner') ? listening : mapped).includes(`/${name}\n`);
  return names.filter((name) => !isHeld(name));
}
