/**
 * Ends a server when its starter is gone, however the starter ended, SIGKILL included.
 *
 * A small shell holds the read end of a pipe that only the starter holds the write end of. The kernel closes it with the
 * starter, and the shell then kills the server's process group and removes what it left. Nothing polls, and no process id
 * of the starter can be mistaken for a later process's. It is in a session of its own, so Ctrl-C does not reach it.
 */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

// A line names the process group to guard (empty: none), or after "stray " an empty folder to remove, whose path has no
// blanks; "done" lets the watchdog go without touching anything.
const SCRIPT = `
server=
strays=
while read -r line; do
  case "$line" in
    done) exit 0 ;;
    stray\\ *) strays="$strays \${line#stray }" ;;
    *) server=$line ;;
  esac
done
if [ -n "$server" ]; then kill -s KILL -- "-$server" 2>/dev/null; sleep 0.3; fi
for folder in $strays; do rmdir -- "$folder" 2>/dev/null; done
if [ -n "$1" ]; then rm -rf -- "$1"; fi
if [ -n "$2" ]; then rm -f -- /dev/shm/"$2"*; fi
`;

export type Remains = {
  /** Folder to remove. */
  readonly folder?: string | undefined;
  /** Files of /dev/shm whose name starts with it are removed. */
  readonly shmPrefix?: string | undefined;
};

export type Watchdog = {
  /** From now on the group of `pid` dies with us; undefined: no group does. */
  watch(pid: number | undefined): void;
  /** Removes this folder too, if it is empty then. */
  stray(folder: string): void;
  /** Ends the watchdog; what it guarded is left alone. */
  release(): Promise<void>;
};

export function startWatchdog(remains: Remains): Watchdog {
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'rag-stack-watchdog', remains.folder ?? '', remains.shmPrefix ?? ''], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  const ended = new Promise<void>((resolve) => shell.once('close', () => resolve()).once('error', () => resolve()));
  shell.stdin.on('error', () => undefined); // it is gone: then there is nobody to tell
  // Neither the shell nor the pipe keeps the starter alive.
  shell.unref();
  (shell.stdin as unknown as Socket).unref();
  return {
    watch(pid) {
      shell.stdin.write(`${pid ?? ''}\n`);
    },
    stray(folder) {
      shell.stdin.write(`stray ${folder}\n`);
    },
    async release() {
      shell.ref();
      shell.stdin.end('done\n');
      await ended;
    },
  };
}
