/**
 * One server program of the local stack: started, waited for until it really answers, signalled, restarted, ended.
 *
 * The program leads a process group of its own, so that its children die with it; a watchdog ends the group when we do.
 * `stop` kills outright: the data goes with it, and nothing that is thrown away needs an orderly end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServingError } from '../../src/errors.ts';
import { isPortFree } from './free-port.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export type KillSignal = 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT';

/** What every started server offers. */
export type RunningServer = {
  /** Process id, the last one while it does not run; another one after `restart`. */
  readonly pid: number;
  readonly dataDir: string;
  readonly logFile: string;
  /** Ends it and removes what it left: processes, temporary data, files in /dev/shm. Safe to call twice. */
  stop(): Promise<void>;
  /**
   * SIGKILL ends it at once, SIGTERM in order (by SIGKILL if that takes too long): resolves when it is gone; its data stays.
   * SIGSTOP freezes it and SIGCONT wakes it.
   */
  kill(signal?: KillSignal): Promise<void>;
  /** Ends it in order if it still runs and starts it again on the same ports and data; resolves when it answers. */
  restart(): Promise<void>;
};

export type ServerProgram = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** TCP ports of 127.0.0.1 that it will listen on. */
  readonly ports: readonly number[];
  readonly dataDir: string;
  /** Data that the caller asked to keep: `stop` then ends the program in order and removes nothing. */
  readonly keepData?: boolean;
  readonly shmPrefix?: string;
  /** Start of the paths of empty folders that it makes outside of dataDir and leaves there when it is killed. */
  readonly strayPrefix?: string;
  /** Fills the data folder before the first start. */
  readonly prepare?: () => Promise<void>;
  /** Throws as long as the server does not answer as it should. Called until it returns. */
  readonly probe: () => Promise<void>;
  readonly readyTimeoutMs: number;
  /** What asks for an orderly end; SIGTERM unless given. */
  readonly endSignal?: NodeJS.Signals;
  /** How long an orderly end may take before SIGKILL. */
  readonly stopTimeoutMs: number;
};

const PROBE_PAUSE_MS = 50;
/** Time for the kernel to take the ports back from a process that was just killed. */
const PORTS_FREE_WITHIN_MS = 1_000;
const GROUP_ENDS_WITHIN_MS = 5_000;
const LOG_TAIL_LINES = 20;

/** Starts the program and resolves when it answers; one that cannot be prepared, ends, or stays silent leaves nothing behind. */
export async function startServer(program: ServerProgram): Promise<ServerProcess> {
  const server = new ServerProcess(program);
  try {
    await program.prepare?.();
    await server.restart();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

export class ServerProcess implements RunningServer {
  readonly dataDir: string;
  readonly logFile: string;
  readonly #program: ServerProgram;
  readonly #watchdog: Watchdog;
  readonly #strays: string[] = [];
  #child: ChildProcess | undefined;
  #pid = Number.NaN;
  #ended: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(program: ServerProgram) {
    this.#program = program;
    this.dataDir = program.dataDir;
    this.logFile = join(program.dataDir, `${program.name}.log`);
    this.#watchdog = startWatchdog({
      folder: program.keepData ? undefined : program.dataDir,
      shmPrefix: program.shmPrefix,
    });
  }

  get pid(): number {
    return this.#pid;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async kill(signal: KillSignal = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    if (signal === 'SIGTERM') return await this.#endInOrder();
    signalGroup(child.pid, signal);
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') return;
    await this.#waitEnded();
  }

  async restart(): Promise<void> {
    if (this.#stopped !== undefined) {
      throw new ServingError(
        'ARGUMENT_INVALID',
        `${this.#program.name} was stopped and its data removed: start a new one`,
      );
    }
    await this.#endInOrder();
    await this.#removeShmFiles();
    await this.#waitPortsFree();
    const before = await foldersLike(this.#program.strayPrefix);
    this.#spawn();
    await this.#waitReady();
    for (const folder of await foldersLike(this.#program.strayPrefix)) {
      if (before.includes(folder)) continue;
      this.#strays.push(folder);
      this.#watchdog.stray(folder);
    }
  }

  async #stop(): Promise<void> {
    try {
      if (this.#program.keepData) await this.#endInOrder();
      else await this.kill('SIGKILL');
    } finally {
      await this.#removeShmFiles();
      // One that is not empty, or gone, is no longer what it left.
      await Promise.all(this.#strays.map((folder) => rmdir(folder).catch(() => undefined)));
      if (!this.#program.keepData) await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
      await this.#watchdog.release();
    }
  }

  /** Another server on our port would answer the probe in our place while our own process is still failing to bind. */
  async #waitPortsFree(): Promise<void> {
    const { name, ports } = this.#program;
    const until = performance.now() + PORTS_FREE_WITHIN_MS;
    for (const port of ports) {
      while (!(await isPortFree(port))) {
        if (performance.now() > until) {
          throw new ServingError('ARGUMENT_INVALID', `${name} cannot start: port ${port} of 127.0.0.1 is taken`);
        }
        await sleep(PROBE_PAUSE_MS);
      }
    }
  }

  #spawn(): void {
    const { command, args, env, dataDir } = this.#program;
    const log = openSync(this.logFile, 'a');
    const child = spawn(command, args, {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: dataDir,
      env: env ?? process.env,
    });
    this.#watchdog.watch(child.pid);
    this.#pid = child.pid ?? Number.NaN;
    closeSync(log);
    child.unref(); // a forgotten server does not keep its starter alive; it dies with it
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      const end = async () => {
        if (child.pid !== undefined) await endGroup(child.pid);
        if (this.#child === child) this.#child = undefined;
        this.#watchdog.watch(undefined);
        resolve();
      };
      child.once('exit', end).once('error', end);
    });
  }

  async #waitReady(): Promise<void> {
    const { name, probe, readyTimeoutMs } = this.#program;
    const until = performance.now() + readyTimeoutMs;
    let last: unknown;
    while (performance.now() < until) {
      if (this.#child === undefined) {
        throw new ServingError(
          'INTERNAL',
          `${name} ended before it was ready; end of its log:\n${await this.#logTail()}`,
        );
      }
      try {
        return await probe();
      } catch (error) {
        last = error;
      }
      await sleep(PROBE_PAUSE_MS);
    }
    const message = `${name} was not ready within ${readyTimeoutMs} ms; end of its log:\n${await this.#logTail()}`;
    throw new ServingError('INTERNAL', message, { cause: last });
  }

  async #endInOrder(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const force = setTimeout(() => child.pid && signalGroup(child.pid, 'SIGKILL'), this.#program.stopTimeoutMs);
    signalGroup(child.pid, 'SIGCONT'); // a process that was frozen would not see the next one
    child.kill(this.#program.endSignal ?? 'SIGTERM');
    await this.#waitEnded();
    clearTimeout(force);
  }

  /** The child is not referenced by the event loop, so something else must be while we wait for it. */
  async #waitEnded(): Promise<void> {
    const awake = setInterval(() => undefined, 60_000);
    await this.#ended;
    clearInterval(awake);
  }

  async #removeShmFiles(): Promise<void> {
    const prefix = this.#program.shmPrefix;
    if (prefix === undefined) return;
    for (const file of await readdir('/dev/shm')) {
      if (file.startsWith(prefix)) await rm(join('/dev/shm', file), { force: true });
    }
  }

  async #logTail(): Promise<string> {
    const text = await readFile(this.logFile, 'utf8').catch(() => '');
    return text.trim().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  }
}

async function foldersLike(prefix: string | undefined): Promise<string[]> {
  if (prefix === undefined) return [];
  const names = await readdir(dirname(prefix));
  return names.filter((name) => name.startsWith(basename(prefix))).map((name) => join(dirname(prefix), name));
}

/** Kills what a program's end leaves of its group, and waits until it is gone: it would hold ports and shared memory. */
async function endGroup(pid: number): Promise<void> {
  const until = performance.now() + GROUP_ENDS_WITHIN_MS;
  while ((await groupMembers(pid)) > 0 && performance.now() < until) {
    signalGroup(pid, 'SIGKILL');
    await sleep(10);
  }
}

/** Processes of the group that still run. Zombies do not: nobody may ever ask for their exit code. */
async function groupMembers(group: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return stats.filter((stat) => {
    const [state, , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state !== 'Z' && Number(processGroup) === group;
  }).length;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // No such group: it has ended, which is what the caller wants to know of nothing more.
  }
}
