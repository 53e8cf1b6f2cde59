/**
 * One lock between processes, held as long as its holder lives.
 *
 * It is the kernel's own file lock, held by a tiny `flock` child that ends when our pipe to it closes: a holder that is
 * killed with SIGKILL frees it at once, so there is no stale lock to detect and none to break by mistake.
 */
import { spawn } from 'node:child_process';
import { ServingError } from '../../src/errors.ts';

const INSTALL = 'flock is missing: install it with "apt-get install util-linux"';
const NOTICE_AFTER_MS = 1_000;

export type LockOptions = { readonly timeoutMs: number; readonly onWait?: () => void };

/** Runs `work` while holding the lock on `file` (created when missing). Throws DEPENDENCY_MISSING when it is not free in time. */
export async function withFileLock<T>(file: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const seconds = String(Math.ceil(options.timeoutMs / 1_000));
  const holder = spawn('flock', ['--wait', seconds, file, 'sh', '-c', 'echo locked; read -r _ || :'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true, // a Ctrl-C meant for us must not free the lock while we still tidy up
  });
  holder.stdin.on('error', () => undefined); // it may be gone already when we let go
  const gone = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  const notice = setTimeout(() => options.onWait?.(), NOTICE_AFTER_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      holder.once('error', (cause) => reject(new ServingError('DEPENDENCY_MISSING', INSTALL, { cause })));
      holder.stdout.once('data', () => resolve());
      holder.once('close', () => {
        reject(new ServingError('DEPENDENCY_MISSING', `the lock ${file} was not free within ${options.timeoutMs} ms`));
      });
    });
    clearTimeout(notice);
    return await work();
  } finally {
    clearTimeout(notice);
    holder.stdin.end();
    if (holder.pid !== undefined) await gone;
  }
}
