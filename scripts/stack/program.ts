/**
 * The product's own programs as processes, from dist/ (which the Makefile builds first). Their JSON lines are kept, so
 * that the starter can wait for an event and read the log afterwards. They end with their starter.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { committedPath } from './package-root.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export type LogLine = Readonly<Record<string, unknown>>;

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

const running = new Set<Program>();

/** For `afterEach`: no test leaves a process behind, whatever it threw. */
export async function killAllPrograms(): Promise<void> {
  await Promise.all([...running].map((program) => program.kill()));
}

export class Program {
  readonly lines: LogLine[] = [];
  /** Everything that was written, for failure messages. */
  output = '';
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #watchdog: Watchdog = startWatchdog({});

  /** `launcher`: a command that becomes the program, e.g. `['nsenter', '--target', pid, '--mount', '--']`. */
  constructor(args: readonly string[], env: Readonly<Record<string, string>>, launcher: readonly string[] = []) {
    // A clean environment: what is set on this machine must not change what the program does.
    const { PATH = '', HOME = '', XDG_CACHE_HOME = '', RAG_SERVING_CACHE_DIR = '' } = process.env;
    // The file itself, as npm's link would start it: its first line holds settings of the process. Node is the starter's own.
    const [command = '', ...rest] = [...launcher, committedPath('dist/workers/main.js'), ...args];
    this.#child = spawn(command, rest, {
      env: { PATH: `${dirname(process.execPath)}:${PATH}`, HOME, XDG_CACHE_HOME, RAG_SERVING_CACHE_DIR, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C in the terminal reaches the starter alone, which stops its programs in order.
      detached: true,
    });
    this.#watchdog.watch(this.#child.pid);
    running.add(this);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => this.#take(line));
    }
    this.exited = new Promise((resolve) => {
      // A program that cannot be started at all has no exit code; whoever waits for a line of it must not wait for ever.
      this.#child.once('error', (error) => {
        this.output += `${error.message}\n`;
        running.delete(this);
        void this.#watchdog.release().then(() => resolve({ code: null, signal: null }));
      });
      this.#child.once('close', (code, signal) => {
        running.delete(this);
        void this.#watchdog.release().then(() => resolve({ code, signal }));
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #take(line: string): void {
    this.output += `${line}\n`;
    if (!line.startsWith('{')) return;
    try {
      this.lines.push(JSON.parse(line) as LogLine);
    } catch {
      // Not a log line of ours.
    }
  }

  /** The first line, past or future, that matches. */
  async line(matches: (line: LogLine) => boolean, timeoutMs = 60_000): Promise<LogLine> {
    const deadline = Date.now() + timeoutMs;
    let exit: Exit | undefined;
    void this.exited.then((value) => (exit = value));
    for (;;) {
      const found = this.lines.find(matches);
      if (found !== undefined) return found;
      if (exit !== undefined) throw new Error(`the program ended with ${JSON.stringify(exit)}:\n${tail(this.output)}`);
      if (Date.now() > deadline) throw new Error(`no such line within ${timeoutMs} ms:\n${tail(this.output)}`);
      await sleep(20);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM', timeoutMs = 60_000): Promise<Exit> {
    this.#child.kill(signal);
    const late = sleep(timeoutMs, undefined, { ref: false }).then(() => {
      throw new Error(`still running ${timeoutMs} ms after ${signal}:\n${tail(this.output)}`);
    });
    return Promise.race([this.exited, late]);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }
}

function tail(output: string): string {
  return output.split('\n').slice(-40).join('\n');
}
