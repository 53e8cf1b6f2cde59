/** The programs of a run: engine, pacer and client, each a process of its own, so that none is part of what is measured. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../../scripts/stack/command.ts';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import type { Answers } from './answers.ts';

/** `go`: about the least that this machine lets any client see. `none`: what the measuring itself costs. */
export type ClientName = 'ours' | 'bare' | 'tritonclient' | 'go' | 'none';

export type Spec = {
  readonly target: string;
  readonly model: string;
  readonly operation: 'embed' | 'rerank' | 'search' | 'both';
  readonly mode: 'open' | 'closed';
  readonly seconds: number;
  /** Open loop: calls a second. */
  readonly rate: number;
  /** Closed loop. */
  readonly callers: number;
  readonly seed: number;
  /** More settings of the client. */
  readonly more?: Readonly<Record<string, unknown>>;
};

export type Run = {
  readonly calls: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly elapsedS: number;
  readonly cpuUs: number;
  readonly maxRssMb: number;
  /** Microseconds, by what was called. */
  readonly times: Readonly<Record<string, Uint32Array>>;
};

/** A client's first line: the pacer may begin. */
const READY = 'ready\n';

export class Load {
  readonly #binary: string;
  readonly #folder: string;
  readonly #python: string;
  readonly #children = new Set<ChildProcess>();

  private constructor(binary: string, folder: string, python: string) {
    this.#binary = binary;
    this.#folder = folder;
    this.#python = python;
  }

  /** Builds the Go program. `python` is an interpreter that has tritonclient. */
  static async make(folder: string, python: string): Promise<Load> {
    mkdirSync(folder, { recursive: true });
    const binary = join(folder, 'load');
    const source = committedPath('test/benchmark/online/load');
    await runCommand('go', ['build', '-C', source, '-o', binary, '.'], {
      install: 'Go 1.24 or later is needed for the engine and the pacer of the benchmark',
      timeoutMs: 300_000,
    });
    return new Load(binary, folder, python);
  }

  /** An engine of those answers; gives its target. */
  async startEngine(answers: Answers): Promise<string> {
    const file = join(this.#folder, 'answers.json');
    writeFileSync(file, JSON.stringify(answers));
    const child = this.#spawn(this.#binary, ['engine', file]);
    const port = await new Promise<string>((resolve, reject) => {
      child.stdout!.once('data', (data: Buffer) => resolve(data.toString().trim()));
      child.once('exit', (code) => reject(new Error(`the engine ended with ${code}`)));
    });
    return `127.0.0.1:${port}`;
  }

  async run(client: ClientName, { more, rate, seed, ...spec }: Spec): Promise<Run> {
    const out = join(this.#folder, 'times');
    const given = JSON.stringify({ ...spec, ...more, out });
    const path = (name: string) => committedPath(`test/benchmark/online/clients/${name}`);
    const start = {
      ours: [process.execPath, path('ours.mjs'), given],
      bare: [process.execPath, path('bare.mjs'), given],
      tritonclient: [this.#python, path('tritonclient_aio.py'), given],
      go: [this.#binary, 'client', given],
      none: [process.execPath, path('none.mjs'), given],
    }[client] as [string, ...string[]];
    const child = this.#spawn(start[0], start.slice(1));
    const pace = () => {
      const pacer = this.#spawn(this.#binary, ['pacer', String(rate), String(spec.seconds), String(seed)]);
      pacer.stdout!.pipe(child.stdin!);
    };
    let output = '';
    child.stdout!.on('data', (data: Buffer) => {
      if (output === '' && spec.mode === 'open') pace();
      output += data.toString();
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`client ${client} ended with ${code}`);
    const { names, ...told } = JSON.parse(output.slice(READY.length)) as Omit<Run, 'times'> & {
      readonly names: readonly string[];
    };
    return { ...told, times: Object.fromEntries(names.map((name) => [name, timesOf(`${out}.${name}`)])) };
  }

  close(): void {
    for (const child of this.#children) child.kill();
    if (existsSync(this.#folder)) rmSync(this.#folder, { recursive: true });
  }

  #spawn(command: string, args: readonly string[]): ChildProcess {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: committedPath('.') });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }
}

function timesOf(file: string): Uint32Array {
  const bytes = readFileSync(file);
  rmSync(file);
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
