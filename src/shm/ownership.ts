/**
 * Who lives. An incarnation (one run of one worker id) holds a listening unix socket beside its region, in the
 * shared-memory mount itself; a connection that is refused says that its process is gone.
 *
 * The surprising fact: this asks the mount, not the process table. A pid means nothing here: in a container it is
 * always 1, two containers that share the mount do not see each other's, and it is reused. A socket FILE is reached
 * from every pid and network namespace that mounts it (an abstract socket is not), the kernel ends it with the process
 * however that dies, and a process that is merely stuck or stopped still counts as alive.
 *
 * Each incarnation binds its own name first and looks for others afterwards, so of two that start at the same time at
 * least one sees the other; nobody ever takes a name over.
 */
import { lstat, readdir, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { ServingError } from '../errors.ts';
import { belongsTo, ownerFileName, parseName, randomNonce, regionName } from './region-name.ts';

const PROBE_TIMEOUT_MS = 2_000;
const NAME_ATTEMPTS = 8;

export type OwnershipOptions = {
  readonly basePath: string;
  /** RAG_SERVING_WORKER_ID. */
  readonly workerId: string;
  readonly nonce?: () => string;
};

export type Claim = {
  readonly incarnation: Incarnation;
  /** Nonces of the same worker id that have files in the mount and no process. */
  readonly dead: readonly string[];
};

export class Incarnation {
  readonly regionName: string;
  readonly nonce: string;
  readonly #server: Server;
  readonly #ownerPath: string;

  constructor(server: Server, ownerPath: string, name: string, nonce: string) {
    this.#server = server;
    this.#ownerPath = ownerPath;
    this.regionName = name;
    this.nonce = nonce;
  }

  /** Call it last: from now on whatever file is left of this incarnation counts as a dead one's. */
  async release(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    await unlink(this.#ownerPath).catch(() => {});
  }
}

/** Throws SHM_INVALID when another process with this worker id lives on the same mount. */
export async function claimIncarnation(options: OwnershipOptions): Promise<Claim> {
  const incarnation = await bindFreshName(options);
  try {
    return { incarnation, dead: await findDead(options, incarnation) };
  } catch (error) {
    await incarnation.release();
    throw error;
  }
}

async function bindFreshName(options: OwnershipOptions): Promise<Incarnation> {
  const { basePath, workerId, nonce: nextNonce = randomNonce } = options;
  for (let attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
    const nonce = nextNonce();
    const name = regionName(workerId, nonce);
    // Whatever lies there, file, directory or symlink, is not ours to open: take another name.
    if (await exists(join(basePath, name))) continue;
    const ownerPath = join(basePath, ownerFileName(workerId, nonce));
    const server = await listen(ownerPath);
    if (server !== undefined) return new Incarnation(server, ownerPath, name, nonce);
  }
  throw new ServingError('SHM_INVALID', `${NAME_ATTEMPTS} names for a region in ${basePath} were all taken`);
}

async function findDead(options: OwnershipOptions, own: Incarnation): Promise<string[]> {
  const { basePath, workerId } = options;
  const dead: string[] = [];
  for (const nonce of await noncesOf(basePath, workerId)) {
    if (nonce === own.nonce) continue;
    if (await isLive(join(basePath, ownerFileName(workerId, nonce)))) throw takenError(options);
    dead.push(nonce);
  }
  // Someone who looked between our bind and our listen took us for dead: then he lives, and his name may be gone too.
  if (!(await exists(join(basePath, ownerFileName(workerId, own.nonce))))) throw takenError(options);
  return dead;
}

async function noncesOf(basePath: string, workerId: string): Promise<ReadonlySet<string>> {
  const nonces = new Set<string>();
  for (const file of await readdir(basePath)) {
    const name = parseName(file);
    if (name !== undefined && belongsTo(name, workerId)) nonces.add(name.nonce);
  }
  return nonces;
}

/** Anything but a clear "nobody there" counts as alive: to sweep a living worker's memory loses its batches. */
function isLive(ownerPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(ownerPath);
    const answer = (live: boolean): void => {
      socket.destroy();
      resolve(live);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => answer(true));
    socket.once('connect', () => answer(true));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      answer(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

/** Undefined when the name is taken. */
function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    // A probe learns all it needs from being let in.
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EADDRINUSE') return resolve(undefined);
      reject(
        new ServingError('SHM_INVALID', `the owner socket ${path} cannot be made (${cause.code}); it must be a tmpfs`, {
          cause,
        }),
      );
    });
    // Open to all: a worker under another uid must be able to see that we live.
    server.listen({ path, readableAll: true, writableAll: true }, () => {
      server.removeAllListeners('error');
      // Failing to let a probe in (no descriptors left) is not a fault of ours to die of: it has seen that we live.
      server.on('error', () => {});
      resolve(server);
    });
  });
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

function takenError({ workerId, basePath }: OwnershipOptions): ServingError {
  return new ServingError(
    'SHM_INVALID',
    `a living process holds worker id ${JSON.stringify(workerId)} on ${basePath}; ` +
      'give each worker its own RAG_SERVING_WORKER_ID, or stop the other one first',
    { details: { workerId, basePath } },
  );
}
