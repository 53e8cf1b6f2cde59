/** A program in a real pseudo-terminal, and the screen that a person would see: xterm.js reads what it writes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import xterm from '@xterm/headless';
import { committedPath } from '../../scripts/stack/package-root.ts';

export type TerminalOptions = {
  readonly rows: number;
  readonly columns: number;
  readonly env: Readonly<Record<string, string>>;
};

export class TerminalProgram {
  readonly terminal: xterm.Terminal;
  readonly exited: Promise<number | null>;
  /** Everything that was written, escape sequences included. */
  raw = '';
  readonly #child: ChildProcess;

  constructor(args: readonly string[], { rows, columns, env }: TerminalOptions) {
    this.terminal = new xterm.Terminal({ rows, cols: columns, allowProposedApi: true });
    const { PATH = '', HOME = '' } = process.env;
    const script = join(committedPath('test'), 'support', 'pseudo-terminal.py');
    const command = [process.execPath, committedPath('dist/workers/main.js'), ...args];
    this.#child = spawn('python3', [script, String(rows), String(columns), ...command], {
      env: { PATH, HOME, TERM: 'xterm-256color', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.raw += text;
      this.terminal.write(text);
    });
    this.exited = new Promise((resolve) => this.#child.once('close', resolve));
  }

  /** As a person reads it, without the blanks at the ends of lines. */
  async screen(): Promise<readonly string[]> {
    // An empty write is answered when all before it has been read.
    await new Promise<void>((resolve) => this.terminal.write('', resolve));
    const { active } = this.terminal.buffer;
    return Array.from({ length: this.terminal.rows }, (_, row) => {
      return active.getLine(active.viewportY + row)?.translateToString(true) ?? '';
    });
  }

  get alternate(): boolean {
    return this.terminal.buffer.active.type === 'alternate';
  }

  resize(rows: number, columns: number): void {
    this.terminal.resize(columns, rows);
    this.#child.stdin?.write(`resize ${rows} ${columns}\n`);
  }

  /** `\\x03` is Ctrl-C. */
  type(text: string): void {
    this.#child.stdin?.write(`type ${text}\n`);
  }

  /** To the program itself. */
  signal(name: NodeJS.Signals): void {
    this.#child.stdin?.write(`signal ${name}\n`);
  }

  /** Hangs up, as a terminal does that is closed. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
