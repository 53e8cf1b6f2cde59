/**
 * A process of its own that opens shared memory, so that it can be killed, fenced in or starved. Writes one JSON line:
 * what it made, or the code of the error. `open` stays until SIGTERM and then closes; `claim` makes a bare region, with
 * no look at the free space before; `library` makes one as shm-typed-array would by itself.
 */
import { readdir, rm } from 'node:fs/promises';
import { create } from 'shm-typed-array';
import { asServingError } from '../../../src/errors.ts';
import { createRegion } from '../../../src/shm/region.ts';
import { openSharedMemory } from '../../../src/shm/shared-memory.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { FakeShmServer } from './fake-shm-server.ts';

const BASE_PATH = '/dev/shm';
const [command, workerId, bytes] = process.argv.slice(2) as [string, string, string];

function say(line: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function openTillTerm(): Promise<void> {
  const server = new FakeShmServer();
  const sizes = { slots: 2, inputBytes: Number(bytes), outputBytes: 1024 };
  const limits = { quarantineMs: 1_000, timeoutMs: 1_000 };
  const opened = await openSharedMemory(server, { basePath: BASE_PATH, workerId, ...sizes, ...limits }, silentLog);
  if (opened.mode === 'inline') return say({ mode: opened.mode });
  const { memory } = opened;
  const lease = await memory.pool.acquire(new AbortController().signal);
  memory.view(memory.slotOf(lease).input).fill(1);
  const stay = setInterval(() => {}, 1_000);
  process.once('SIGTERM', async () => {
    const errors = await memory.close();
    clearInterval(stay);
    say({ closed: true, errors: errors.length });
  });
  say({ mode: opened.mode, region: memory.regionName, pid: process.pid });
}

async function claimOnly(): Promise<void> {
  const region = await createRegion({ basePath: BASE_PATH, name: `rag-${workerId}`, regionBytes: Number(bytes) });
  region.view({ offset: 64, byteSize: Number(bytes) - 64 }).fill(1);
  region.close();
  say({ claimed: true });
}

async function byLibrary(): Promise<void> {
  const region = create(Number(bytes), 'Buffer', `/rag-${workerId}`, '600');
  region?.fill(1);
  await rm(`${BASE_PATH}/rag-${workerId}`);
  say({ filled: true });
}

const run = { open: openTillTerm, claim: claimOnly, library: byLibrary }[command];
try {
  await run?.();
} catch (error) {
  const { code, message, details } = asServingError(error);
  say({
    code,
    message,
    details,
    files: (await readdir(BASE_PATH)).filter((name) => name.startsWith(`rag-${workerId}`)),
  });
}
