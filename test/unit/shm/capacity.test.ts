import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMountSpace, requireShmMount, requireSpace } from '../../../src/shm/capacity.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-shm-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('requireSpace', () => {
  const MIB = 1024 * 1024;
  const space =
    (freeBytes: number, totalBytes = 64 * MIB) =>
    async () => ({ freeBytes, totalBytes });

  it('says how much is needed, free and missing, and what to do', async () => {
    await expect(requireSpace('/dev/shm', 10 * MIB, space(4 * MIB))).rejects.toMatchObject({
      code: 'SHM_NO_SPACE',
      message: expect.stringMatching(
        /needs 10485760 .* 4194304 free: 6291456 are missing.*RAG_SERVING_SHM_SLOTS.*RAG_SERVING_SHM_BASE_PATH/,
      ),
      details: { basePath: '/dev/shm', neededBytes: 10 * MIB, freeBytes: 4 * MIB, missingBytes: 6 * MIB },
    });
  });

  it('is content with exactly enough, and not with one byte less', async () => {
    await requireSpace('/dev/shm', MIB, space(MIB));
    await expect(requireSpace('/dev/shm', MIB, space(MIB - 1))).rejects.toMatchObject({ details: { missingBytes: 1 } });
  });

  it('lets a mount without a limit pass, for the claim to prove', async () => {
    await requireSpace('/dev/shm', MIB, space(0, 0));
  });

  it('asks the real mount', async () => {
    const { freeBytes, totalBytes } = await readMountSpace('/dev/shm');
    expect(freeBytes).toBeLessThanOrEqual(totalBytes);
    await expect(requireSpace('/dev/shm', 2 ** 52)).rejects.toMatchObject({ code: 'SHM_NO_SPACE' });
  });
});

describe('requireShmMount', () => {
  it('takes /dev/shm, also through a symlink', async () => {
    const link = join(folder, 'link');
    await symlink('/dev/shm', link);
    await requireShmMount('/dev/shm');
    await requireShmMount('/dev/shm/');
    await requireShmMount(link);
  });

  const refused: { name: string; path: () => string; says: RegExp }[] = [
    { name: 'a path that does not exist', path: () => join(folder, 'absent'), says: /cannot be read/ },
    { name: 'a file', path: () => join(folder, 'file'), says: /not a directory/ },
    { name: 'a folder where shm_open does not look', path: () => folder, says: /the only place shm_open knows/ },
  ];
  for (const { name, path, says } of refused) {
    it(`refuses ${name} and names the setting`, async () => {
      await writeFile(join(folder, 'file'), '');
      const error = await requireShmMount(path()).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'SHM_INVALID', message: expect.stringMatching(says) });
      expect(error).toMatchObject({ message: expect.stringContaining('RAG_SERVING_SHM_BASE_PATH') });
    });
  }
});
