import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServingError } from '../../../src/errors.ts';
import { randomNonce, regionName } from '../../../src/shm/region-name.ts';
import { openSharedMemory, type SharedMemory, type SharedMemoryOptions } from '../../../src/shm/shared-memory.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { FakeShmServer } from '../../support/shm/fake-shm-server.ts';

const SHM = '/dev/shm';
let workerId: string;
let opened: SharedMemory[];

beforeEach(() => {
  workerId = `test-${randomUUID().slice(0, 8)}`;
  opened = [];
});
afterEach(async () => {
  for (const memory of opened) await memory.close();
  for (const file of await ours()) await rm(`${SHM}/${file}`);
});

async function ours(): Promise<string[]> {
  return (await readdir(SHM)).filter((name) => name.startsWith(`rag-${workerId}`));
}

function open(server: FakeShmServer, changes: Partial<SharedMemoryOptions> = {}, signal?: AbortSignal) {
  const sizes = { slots: 2, inputBytes: 4096, outputBytes: 1024 };
  const options = { basePath: SHM, workerId, quarantineMs: 60_000, timeoutMs: 500, ...sizes, ...changes };
  return openSharedMemory(server, options, silentLog, signal);
}

async function mustOpen(server: FakeShmServer): Promise<SharedMemory> {
  const result = await open(server);
  if (result.mode === 'inline') throw new Error(`inline: ${result.reason}`);
  opened.push(result.memory);
  return result.memory;
}

describe('openSharedMemory', () => {
  it('gives slots whose ranges mean the same bytes to us and to whoever opens the registered file', async () => {
    const server = new FakeShmServer();
    const memory = await mustOpen(server);
    const lease = await memory.pool.acquire(new AbortController().signal);
    const { input } = memory.slotOf(lease);
    memory.view(input).write('hello');
    const range = memory.rangeOf({ offset: input.offset, byteSize: 5 });
    const region = server.regions.get(range.region)!;
    const file = await readFile(`${SHM}${region.key}`);
    expect(region).toMatchObject({ offset: 0, byteSize: file.byteLength });
    expect(file.toString('latin1', range.offset, range.offset + range.byteSize)).toBe('hello');
    lease.release();
  });

  it('close unregisters, removes every file, and may be called twice', async () => {
    const server = new FakeShmServer();
    const memory = await mustOpen(server);
    expect(await memory.close()).toEqual([]);
    expect(await memory.close()).toEqual([]);
    expect(server.regions.size).toBe(0);
    expect(await ours()).toEqual([]);
    expect(() => memory.view({ offset: 64, byteSize: 1 })).toThrow(/closed/);
  });

  it('close with a lease still out leaves its bytes touchable', async () => {
    const memory = await mustOpen(new FakeShmServer());
    const lease = await memory.pool.acquire(new AbortController().signal);
    const view = memory.view(memory.slotOf(lease).output);
    await memory.close();
    view.fill(3);
    expect(view.every((byte) => byte === 3)).toBe(true);
    expect(await ours()).toEqual([]);
  });

  it('close runs every step when the server is away, and says so', async () => {
    const server = new FakeShmServer();
    const memory = await mustOpen(server);
    server.unregisterFails = new ServingError('INFERENCE_UNAVAILABLE', 'away');
    expect(await memory.close()).toMatchObject([{ code: 'INFERENCE_UNAVAILABLE' }]);
    expect(await ours()).toEqual([]);
  });

  it('close removes every file although the server does not answer, as soon as the caller has no more time', async () => {
    const server = new FakeShmServer();
    const memory = await mustOpen(server);
    server.silent = true;
    const patience = new AbortController();
    const closed = memory.close(patience.signal);
    patience.abort(new ServingError('DRAIN_TIMEOUT', 'no time left'));
    expect(await closed).toMatchObject([{ code: 'DRAIN_TIMEOUT' }]);
    expect(await ours()).toEqual([]);
  });

  it('a restart of the server frees the slots whose calls it took along (T01)', async () => {
    const server = new FakeShmServer();
    const memory = await mustOpen(server);
    const lease = await memory.pool.acquire(new AbortController().signal);
    const seen = memory.registration.epoch;
    lease.quarantine('disconnected');
    server.restart();
    expect(await memory.registration.ensureRegistered(seen)).toEqual({ mode: 'shared-memory' });
    expect(memory.pool.counts).toEqual({ free: 2, leased: 0, quarantined: 0 });
  });

  it('is off with 0 slots, and touches nothing', async () => {
    const server = new FakeShmServer();
    expect(await open(server, { slots: 0, basePath: '/absent' })).toEqual({ mode: 'inline', reason: 'disabled' });
    expect(server.calls).toEqual([]);
  });

  it('leaves no file when the server will not have the region', async () => {
    const server = new FakeShmServer();
    server.registerFails = [new ServingError('SHM_UNSUPPORTED', 'disabled')];
    expect(await open(server)).toMatchObject({ mode: 'inline', reason: 'unsupported' });
    expect(await ours()).toEqual([]);
  });

  it('leaves no file and no registration when the server does not answer', async () => {
    const server = new FakeShmServer();
    server.registerFails = [new ServingError('INFERENCE_DEADLINE', 'silent')];
    await expect(open(server)).rejects.toMatchObject({ code: 'INFERENCE_DEADLINE' });
    expect(server.calls.at(-1)).toMatch(/^unregister rag-test-/);
    expect(await ours()).toEqual([]);
  });

  it('leaves no file when the caller gives up', async () => {
    await expect(open(new FakeShmServer(), {}, AbortSignal.abort())).rejects.toMatchObject({
      code: 'INFERENCE_CANCELLED',
    });
    expect(await ours()).toEqual([]);
  });

  it('says what is missing when the slots do not fit, and leaves no file', async () => {
    await expect(open(new FakeShmServer(), { inputBytes: 2 ** 50 })).rejects.toMatchObject({ code: 'SHM_NO_SPACE' });
    expect(await ours()).toEqual([]);
  });

  it('replaces what is left of a dead incarnation, short or of the right size with old bytes (T03)', async () => {
    const server = new FakeShmServer();
    const old = [regionName(workerId, randomNonce()), regionName(workerId, randomNonce())];
    await writeFile(`${SHM}/${old[0]}`, Buffer.alloc(10, 0xee));
    await writeFile(`${SHM}/${old[1]}`, Buffer.alloc(12_288, 0xee));
    for (const name of old) server.regions.set(name, { name, key: `/${name}`, offset: 0, byteSize: 4096 });
    const fileless = regionName(workerId, randomNonce());
    server.regions.set(fileless, { name: fileless, key: `/${fileless}`, offset: 0, byteSize: 4096 });

    const memory = await mustOpen(server);
    expect([...server.regions.keys()]).toEqual([memory.regionName]);
    expect(await ours()).toHaveLength(2);
    expect(memory.view(memory.layout.slots[0]!.input).every((byte) => byte === 0)).toBe(true);
    // A server that still maps a dead region keeps its memory: it must let go before ours is claimed.
    expect(server.calls.findIndex((call) => call.startsWith('register'))).toBe(2);
  });

  it('2,000 leases map nothing and leave every slot free (T05)', async () => {
    const memory = await mustOpen(new FakeShmServer());
    const mappings = async (): Promise<number> =>
      (await readFile('/proc/self/maps', 'utf8')).split(memory.regionName).length - 1;
    const before = await mappings();
    for (let batch = 0; batch < 2_000; batch++) {
      const lease = await memory.pool.acquire(new AbortController().signal);
      memory.view(memory.slotOf(lease).input).fill(batch);
      lease.release();
    }
    expect(await mappings()).toBe(before);
    expect(before).toBe(1);
    expect(memory.pool.counts).toEqual({ free: 2, leased: 0, quarantined: 0 });
  });
});
