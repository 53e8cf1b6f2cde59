import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkSum } from '../../../../scripts/stack/maven.ts';

describe('a file out of a Java package', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rag-maven-'));
    await writeFile(join(folder, 'library.so'), '');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is refused when it is another than the pinned one, or none', async () => {
    const ofNothing = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    await checkSum(join(folder, 'library.so'), ofNothing, 'the library');
    await expect(checkSum(join(folder, 'library.so'), 'aa', 'the library')).rejects.toMatchObject({
      code: 'DEPENDENCY_MISSING',
      message: `the library is not the pinned one: aa wanted, ${ofNothing} found`,
    });
    await expect(checkSum(join(folder, 'gone.so'), 'aa', 'the library')).rejects.toThrow('missing found');
  });
});
