/** What only processes can show: killed without a word, fenced into namespaces, starved of memory. */
import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, bundleChild, canUnshare, type ShmChild, startChild } from '../../support/shm/run-child.ts';

const SHM = '/dev/shm';
const namespaces = await canUnshare();
const WITHOUT_NAMESPACES = 'needs root (unshare, mount)';

let bundle: Bundle;
let workerId: string;
let children: ShmChild[] = [];

beforeAll(async () => {
  bundle = await bundleChild();
});
afterAll(() => bundle.remove());
afterEach(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  for (const child of children) await child.ended;
  children = [];
  for (const file of await ours()) await rm(`${SHM}/${file}`);
});

function start(args: readonly string[], within?: readonly string[]): ShmChild {
  const child = startChild(bundle, args, within);
  children.push(child);
  return child;
}

async function ours(): Promise<string[]> {
  return (await readdir(SHM)).filter((name) => name.startsWith(`rag-${workerId}`)).sort();
}

describe('a worker process', () => {
  it('leaves at most one set of files after 20 starts that end in SIGKILL, and none after SIGTERM (T05)', async () => {
    workerId = `t05-${randomUUID().slice(0, 8)}`;
    const regions = new Set<string>();
    for (let cycle = 0; cycle < 20; cycle++) {
      const child = start(['open', workerId, '65536']);
      const line = await child.next();
      expect(line).toMatchObject({ mode: 'shared-memory' });
      regions.add(line!.region!);
      expect(await ours()).toEqual([line!.region, `${line!.region}.owner`]);
      child.process.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
    }
    expect(regions.size).toBe(20);
    expect(await ours()).toHaveLength(2);

    for (let cycle = 0; cycle < 3; cycle++) {
      const child = start(['open', workerId, '65536']);
      expect(await child.next()).toMatchObject({ mode: 'shared-memory' });
      child.process.kill('SIGTERM');
      expect(await child.next()).toEqual({ closed: true, errors: 0 });
      expect(await child.ended).toBe(0);
      expect(await ours()).toEqual([]);
    }
  });

  it('is not swept by a second one of its id, not even while it is stopped; the second one ends with a clear error', async () => {
    workerId = `twin-${randomUUID().slice(0, 8)}`;
    const first = start(['open', workerId, '65536']);
    await first.next();
    const files = await ours();
    first.process.kill('SIGSTOP');
    expect(await start(['open', workerId, '65536']).next()).toMatchObject({
      code: 'SHM_INVALID',
      message: expect.stringContaining('RAG_SERVING_WORKER_ID'),
    });
    expect(await ours()).toEqual(files);
    first.process.kill('SIGCONT');
    first.process.kill('SIGTERM');
    expect(await first.next()).toEqual({ closed: true, errors: 0 });
    expect(await ours()).toEqual([]);
  });
});

describe.skipIf(!namespaces)(
  `a worker in a container of its own (${namespaces ? 'unshare' : WITHOUT_NAMESPACES})`,
  () => {
    const container = ['unshare', '--pid', '--net', '--fork', '--kill-child'];

    it('is seen alive from another pid and network namespace, and dead when it is', async () => {
      workerId = `ns-${randomUUID().slice(0, 8)}`;
      const first = start(['open', workerId, '65536'], container);
      const opened = await first.next();
      // Both are pid 1 in their own eyes: a pid file would take the second one for the first.
      expect(opened).toMatchObject({ mode: 'shared-memory', pid: 1 });
      expect(await start(['open', workerId, '65536'], container).next()).toMatchObject({ code: 'SHM_INVALID' });
      expect(await ours()).toEqual([opened!.region, `${opened!.region}.owner`]);
      first.process.kill('SIGKILL');
      await first.ended;
      const next = await start(['open', workerId, '65536'], container).next();
      expect(next).toMatchObject({ mode: 'shared-memory', pid: 1 });
      expect(await ours()).toEqual([next!.region, `${next!.region}.owner`]);
    });
  },
);

describe.skipIf(!namespaces)(`a mount of 1 MiB (${namespaces ? 'tmpfs' : WITHOUT_NAMESPACES})`, () => {
  const small = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"', 'sh'];
  const TWO_MIB = String(2 * 1024 * 1024);

  it('is told to be too small before anything is made', async () => {
    workerId = `small-${randomUUID().slice(0, 8)}`;
    const line = await start(['open', workerId, TWO_MIB], small).next();
    expect(line).toMatchObject({
      code: 'SHM_NO_SPACE',
      files: [],
      message: expect.stringContaining('RAG_SERVING_SHM_SLOTS'),
    });
    expect(line?.details?.freeBytes).toBe(1024 * 1024);
  });

  it('fills up while a region is claimed: an error and no file, never a SIGBUS', async () => {
    workerId = `full-${randomUUID().slice(0, 8)}`;
    const child = start(['claim', workerId, TWO_MIB], small);
    expect(await child.next()).toMatchObject({ code: 'SHM_NO_SPACE', files: [] });
    expect(await child.ended).toBe(0);
  });

  it('is why the library is not left to make the file: there it is a SIGBUS', async () => {
    workerId = `bus-${randomUUID().slice(0, 8)}`;
    const child = start(['library', workerId, TWO_MIB], small);
    expect(await child.next()).toBeUndefined();
    expect(await child.ended).toBe('SIGBUS');
  });

  it('takes a region that fits to the last page', async () => {
    workerId = `fits-${randomUUID().slice(0, 8)}`;
    expect(await start(['claim', workerId, String(1024 * 1024)], small).next()).toEqual({ claimed: true });
  });
});
