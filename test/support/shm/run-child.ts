/**
 * Runs shm-child.ts as a process. Node 20 cannot run TypeScript, so it is bundled once a test file, into node_modules,
 * from where it finds the native library.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { build } from 'vite';

const CACHE = join(import.meta.dirname, '../../../node_modules/.cache');
const ANSWER_TIMEOUT_MS = 20_000;

export type ChildLine = {
  readonly mode?: string;
  readonly region?: string;
  readonly closed?: boolean;
  readonly errors?: number;
  readonly claimed?: boolean;
  readonly filled?: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly details?: Readonly<Record<string, number>>;
  readonly files?: readonly string[];
};

export type ShmChild = {
  readonly process: ChildProcess;
  /** The next line it writes; undefined when it ends without one. */
  next(): Promise<ChildLine | undefined>;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>;
};

export type Bundle = { readonly script: string; remove(): Promise<void> };

export async function bundleChild(): Promise<Bundle> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, 'shm-child-'));
  await build({
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: join(import.meta.dirname, 'shm-child.ts'),
      outDir: folder,
      rollupOptions: { output: { entryFileNames: 'shm-child.mjs' } },
    },
  });
  return { script: join(folder, 'shm-child.mjs'), remove: () => rm(folder, { recursive: true, force: true }) };
}

/** `within` is a command line in front, such as ["unshare", "--net"]. */
export function startChild(bundle: Bundle, args: readonly string[], within: readonly string[] = []): ShmChild {
  const [command, ...rest] = [...within, process.execPath, bundle.script, ...args];
  const child = spawn(command!, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const overdue = setTimeout(() => child.kill('SIGKILL'), ANSWER_TIMEOUT_MS);
  void ended.then(() => clearTimeout(overdue));
  return {
    process: child,
    ended,
    next: async () => {
      const { value, done } = await lines.next();
      return done === true ? undefined : (JSON.parse(value) as ChildLine);
    },
  };
}

/** Whether this machine lets us make namespaces and mount in them. */
export async function canUnshare(): Promise<boolean> {
  const tryOut = promisify(execFile)('unshare', ['-m', '-p', '-n', '-f', 'mount', '-t', 'tmpfs', 'tmpfs', '/dev/shm']);
  return await tryOut.then(
    () => true,
    () => false,
  );
}
