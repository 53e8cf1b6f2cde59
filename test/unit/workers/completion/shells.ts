/** A completion as a shell gives it: the script is loaded and asked in a real bash, zsh or fish. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { committedPath } from '../../../../scripts/stack/package-root.ts';

export function hasShell(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined;
}

/** The words of the line, the last one unfinished, as readline hands them to the registered function. */
const ASK_BASH = `
source "$1"; shift
registered=$(complete -p rag-serving); registered=\${registered#*-F }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
\${registered%% *}
printf '%s\\n' "\${COMPREPLY[@]}"`;

export function askBash(file: string, words: readonly string[], cwd: string): readonly string[] {
  return answered('bash', ['--norc', '-c', ASK_BASH, 'bash', file, 'rag-serving', ...words], cwd);
}

/** Each answer is a word, and after a tab its description. */
export function askFish(file: string, line: string, cwd: string): readonly string[] {
  return answered('fish', ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', file, line], cwd);
}

function answered(shell: string, args: readonly string[], cwd: string): readonly string[] {
  const { stdout, stderr, status } = spawnSync(shell, args, { cwd, encoding: 'utf8', timeout: 60_000 });
  if (status !== 0 || stderr !== '') throw new Error(`${shell} ended with ${status}: ${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

/**
 * zsh completes only at a terminal: it gets one, keys are typed, and what it writes is read until `shows` is in it; then
 * the line is run, and the answer holds it as `ran<…>`. It completes nothing while more keys wait, so the Enter comes last.
 */
export async function typeIntoZsh(file: string, keys: string, shows: RegExp, cwd: string): Promise<string> {
  const pseudoTerminal = join(committedPath('test'), 'support', 'pseudo-terminal.py');
  const child = spawn('python3', [pseudoTerminal, '120', '250', 'zsh', '-f', '-i'], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, TERM: 'dumb' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('close', resolve));
  let screen = '';
  const seen = (what: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const look = () => what.test(screen) && resolve();
      child.stdout.on('data', look);
      child.once('close', () => reject(new Error(`zsh ended and wrote ${JSON.stringify(screen)}`)));
      setTimeout(() => reject(new Error(`${what} is not in ${JSON.stringify(screen)}`)), 15_000).unref();
      look();
    });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  try {
    child.stdin.write('type LISTMAX=0; autoload -Uz compinit; compinit -u -D\\n\n');
    child.stdin.write(`type source ${file}; rag-serving() { print "ran<$*>" }; PS1=rea''dy-now\\n\n`);
    await seen(/ready-now/);
    screen = '';
    child.stdin.write(`type ${keys}\n`);
    await seen(shows);
    child.stdin.write('type \\n\n');
    await seen(/ran<.*>/);
    return screen;
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}
