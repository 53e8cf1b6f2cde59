/**
 * Runs one program to its end and says what went wrong in one message: the last lines it printed, or what to install
 * when the program itself is missing. Everything is bounded by a time limit.
 */
import { spawn } from 'node:child_process';
import { ServingError } from '../../src/errors.ts';

export type CommandOptions = {
  /** What to do when the program is not installed, e.g. "apt-get install maven". */
  readonly install: string;
  readonly timeoutMs: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Called with each line the program prints, for progress. */
  readonly onLine?: (line: string) => void;
};

const KEPT_LINES = 15;

/** Standard output and error, together. Throws DEPENDENCY_MISSING when the program is missing or fails. */
export function runCommand(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: options.env ?? process.env,
      cwd: options.cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let open = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs);
    const take = (text: string) => {
      output += text;
      const lines = (open + text).split(/[\r\n]+/);
      open = lines.pop() ?? '';
      for (const line of lines) if (line.trim() !== '') options.onLine?.(line);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new ServingError('DEPENDENCY_MISSING', `${command} cannot be run: ${options.install}`, { cause }));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) return resolve(output);
      const end = signal === 'SIGKILL' ? `did not end within ${options.timeoutMs} ms` : `ended with ${code ?? signal}`;
      const tail = output.trim().split('\n').slice(-KEPT_LINES).join('\n');
      const said = tail === '' ? 'it printed nothing' : `it printed:\n${tail}`;
      reject(new ServingError('DEPENDENCY_MISSING', `${command} ${args.slice(0, 3).join(' ')} ${end}; ${said}`));
    });
  });
}

/** First line that a version call prints, or undefined when the program is missing or refuses. */
export async function versionOf(command: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return (await runCommand(command, args, { install: '', timeoutMs: 30_000 })).trim();
  } catch {
    return undefined;
  }
}
