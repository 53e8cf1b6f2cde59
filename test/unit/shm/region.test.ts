import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { layoutFor } from '../../../src/shm/layout.ts';
import { createRegion, type SharedRegion } from '../../../src/shm/region.ts';

const SHM = '/dev/shm';
const made: string[] = [];
const open: SharedRegion[] = [];

function freshName(): string {
  const name = `rag-test-${randomUUID()}`;
  made.push(join(SHM, name));
  return name;
}

async function region(name = freshName(), regionBytes = 3 * 4096, fileMode?: number): Promise<SharedRegion> {
  const created = await createRegion({
    basePath: SHM,
    name,
    regionBytes,
    ...(fileMode === undefined ? {} : { fileMode }),
  });
  open.push(created);
  return created;
}

afterEach(async () => {
  for (const one of open.splice(0)) one.close();
  for (const path of made.splice(0)) await rm(path, { recursive: true, force: true });
});

describe('a shared-memory region', () => {
  it('is a file of exactly the asked size, claimed in full, with its size header', async () => {
    const { path, registration } = await region();
    const found = await stat(path);
    expect(found.size).toBe(3 * 4096);
    expect(found.blocks * 512).toBe(3 * 4096);
    const bytes = await readFile(path);
    expect(bytes.readBigUInt64LE(0)).toBe(BigInt(3 * 4096 - 8));
    expect(bytes.subarray(8).every((byte) => byte === 0)).toBe(true);
    expect(registration).toEqual({
      name: expect.any(String),
      key: expect.stringMatching(/^\/rag-test-/),
      offset: 0,
      byteSize: 3 * 4096,
    });
  });

  it('claims all pages of a region that is larger than one write', async () => {
    const { path } = await region(freshName(), 5 * 1024 * 1024 + 4096);
    expect((await stat(path)).blocks * 512).toBe(5 * 1024 * 1024 + 4096);
  });

  it('a view shows the bytes at the same offset of the file, both ways', async () => {
    const layout = layoutFor({ slots: 2, inputBytes: 100, outputBytes: 50 });
    const shared = await region(freshName(), layout.regionBytes);
    for (const { index, input, output } of layout.slots) {
      shared.view(input).write(`in${index}`);
      shared.view(output).fill(0xa0 + index);
    }
    const file = await readFile(shared.path);
    for (const { index, input, output } of layout.slots) {
      expect(file.toString('latin1', input.offset, input.offset + 3)).toBe(`in${index}`);
      expect(file.subarray(output.offset, output.offset + output.byteSize)).toEqual(Buffer.alloc(50, 0xa0 + index));
      expect(shared.view(input).byteLength).toBe(100);
      expect(shared.view(output).byteOffset % 8).toBe(0);
    }
    const last = { offset: layout.regionBytes - 1, byteSize: 1 };
    shared.view(last)[0] = 7;
    expect((await readFile(shared.path)).at(-1)).toBe(7);
  });

  for (const [offset, byteSize] of [
    [0, 8],
    [7, 1],
    [-8, 16],
    [8, 12_281],
    [12_288, 1],
    [Number.NaN, 1],
    [64, -1],
  ] as const) {
    it(`has no view of ${byteSize} bytes at ${offset}`, async () => {
      const shared = await region();
      expect(() => shared.view({ offset, byteSize })).toThrow(expect.objectContaining({ code: 'SHM_INVALID' }));
    });
  }

  it('is open to a server under another uid, whatever the umask', async () => {
    const umask = process.umask(0o077);
    try {
      expect((await stat((await region()).path)).mode & 0o777).toBe(0o666);
      expect((await stat((await region(freshName(), 4096, 0o660)).path)).mode & 0o777).toBe(0o660);
    } finally {
      process.umask(umask);
    }
  });

  it('close removes the file, may be called twice, and hands out no view any more', async () => {
    const shared = await region();
    shared.close();
    shared.close();
    expect(shared.closed).toBe(true);
    await expect(stat(shared.path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(() => shared.view({ offset: 64, byteSize: 1 })).toThrow(/closed/);
  });

  it('close keeps the memory under a view that may still be touched', async () => {
    const shared = await region();
    const view = shared.view({ offset: 64, byteSize: 4096 });
    shared.close({ viewsMayRemain: true });
    view.fill(1);
    expect(view.every((byte) => byte === 1)).toBe(true);
    await expect(stat(shared.path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('close is content when somebody else has removed the file', async () => {
    for (const viewsMayRemain of [true, false]) {
      const shared = await region();
      await rm(shared.path);
      shared.close({ viewsMayRemain });
      expect(shared.closed).toBe(true);
    }
  });

  it('mappings do not grow over 200 regions made and closed (T05)', async () => {
    const mapped = async (): Promise<number> =>
      (await readFile('/proc/self/maps', 'utf8')).split('rag-test-').length - 1;
    const before = await mapped();
    for (let i = 0; i < 200; i++) (await region()).close();
    expect(await mapped()).toBe(before);
  });
});

describe('something in the way of a region is never written to (T03)', () => {
  const refused = { code: 'SHM_INVALID', message: expect.stringMatching(/exists already/) };

  it('a file, short, of the right size, or read-only', async () => {
    for (const [size, mode] of [
      [10, 0o600],
      [4096, 0o666],
      [4096, 0o400],
    ] as const) {
      const name = freshName();
      const path = join(SHM, name);
      await writeFile(path, Buffer.alloc(size, 0xee));
      await chmod(path, mode);
      await expect(region(name, 4096)).rejects.toMatchObject(refused);
      expect(await readFile(path)).toEqual(Buffer.alloc(size, 0xee));
    }
  });

  it('a directory', async () => {
    const name = freshName();
    await mkdir(join(SHM, name));
    await expect(region(name)).rejects.toMatchObject(refused);
    expect((await stat(join(SHM, name))).isDirectory()).toBe(true);
  });

  it('a symlink, to a file or to nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rag-shm-'));
    made.push(folder);
    const target = join(folder, 'target');
    await writeFile(target, 'precious');
    for (const goal of [target, join(folder, 'absent')]) {
      const name = freshName();
      await symlink(goal, join(SHM, name));
      await expect(region(name)).rejects.toMatchObject(refused);
      expect(await readlink(join(SHM, name))).toBe(goal);
    }
    expect(await readFile(target, 'utf8')).toBe('precious');
    await expect(stat(join(folder, 'absent'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

it('refuses a region larger than Node can map, and names the setting', async () => {
  const name = freshName();
  await expect(region(name, 2 ** 53)).rejects.toThrow(/RAG_SERVING_SHM_SLOTS/);
  await expect(stat(join(SHM, name))).rejects.toMatchObject({ code: 'ENOENT' });
});
