/** Which golden file is read when a folder is given. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatGolden } from '../../../src/golden/golden-file.ts';
import { MANIFEST_FORMAT, type Manifest } from '../../../src/registry/manifest.ts';
import { writeReceipt } from '../../../src/registry/receipt.ts';
import { readGolden } from '../../../workers/golden-path.ts';
import { goldenEmbedder } from '../golden/fake-model.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-golden-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A file that is told by its only text. */
async function put(name: string): Promise<void> {
  await mkdir(join(folder, name, '..'), { recursive: true });
  await writeFile(join(folder, name), formatGolden(goldenEmbedder({ [name]: [1] })));
}

const textOf = async (path: string) => {
  const [row] = (await readGolden(path)).rows;
  return row !== undefined && 'text' in row ? row.text : undefined;
};

describe('readGolden', () => {
  it('reads a file by whatever name', async () => {
    await put('odd.name');
    expect(await textOf(join(folder, 'odd.name'))).toBe('odd.name');
  });

  it('takes golden.json of a folder, else the only one beside a model', async () => {
    await put('embedder.onnx.golden.json');
    await writeFile(join(folder, 'embedder.onnx.parity.json'), '{}');
    expect(await textOf(folder)).toBe('embedder.onnx.golden.json');
    await put('golden.json');
    expect(await textOf(folder)).toBe('golden.json');
  });

  it("takes the one that a pulled model's manifest names", async () => {
    await put('golden.json');
    await put('1/own.json');
    const file = { path: '1/own.json', sha256: 'a'.repeat(64), sizeBytes: 1 };
    const manifest: Manifest = {
      format: MANIFEST_FORMAT,
      name: 'm',
      version: '1',
      createdAt: new Date(0).toISOString(),
      kind: 'files',
      engine: null,
      fingerprint: null,
      golden: '1/own.json',
      sourceRevision: null,
      files: [file],
    };
    await writeReceipt(folder, 'file:///r', { manifest, sha256: 'b'.repeat(64) });
    expect(await textOf(folder)).toBe('1/own.json');
  });

  const refused: { name: string; files: string[]; says: RegExp }[] = [
    { name: 'no golden file', files: [], says: /has no golden\.json/ },
    {
      name: 'several',
      files: ['a.golden.json', 'b.golden.json'],
      says: /several golden files \(a\S+, b\S+\): name the file/,
    },
  ];
  for (const { name, files, says } of refused) {
    it(`refuses a folder with ${name}`, async () => {
      for (const file of files) await put(file);
      await expect(readGolden(folder)).rejects.toMatchObject({
        code: 'ARGUMENT_INVALID',
        message: expect.stringMatching(says),
      });
    });
  }

  it('names a path that is not there', async () => {
    await expect(readGolden(join(folder, 'none'))).rejects.toThrow(/cannot read the golden file .*none/);
  });
});
