/** A tokenizer from a file, a folder, or a hub: only that one file, by commit. How a hub may fail is tested with the models. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findTokenizer } from '../../../../scripts/export-tokenizer/tokenizer-source.ts';
import { asFile, smallTokenizer } from '../../../support/small-tokenizer.ts';
import { COMMIT, type FakeHub, startHub } from '../export-onnx/hub-server.ts';

const CONTENT = asFile(smallTokenizer());

let folder: string;
let hub: FakeHub;
let said: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rag-tokenizer-source-'));
  hub = await startHub(
    new Map([
      ['tokenizer.json', CONTENT],
      ['onnx/model.onnx', Buffer.alloc(5_000)],
    ]),
  );
  said = '';
});
afterEach(async () => {
  await hub.close();
  await rm(folder, { recursive: true, force: true });
});

function find(model: string, revision = 'main') {
  const stderr = { write: (text: string) => (said += text) } as unknown as NodeJS.WriteStream;
  const env = { HF_ENDPOINT: hub.endpoint, HF_TOKEN: 'hf_secret' };
  return findTokenizer({ model, revision }, { env, cacheDir: folder, stderr }, new AbortController().signal);
}

describe('a tokenizer on this machine', () => {
  it('is a file or the folder that holds it, and no hub is asked', async () => {
    await writeFile(join(folder, 'tokenizer.json'), CONTENT);
    await writeFile(join(folder, 'other.json'), CONTENT);
    expect(await find(folder)).toEqual({ content: CONTENT });
    expect(await find(join(folder, 'other.json'))).toEqual({ content: CONTENT });
    expect(hub.log).toEqual([]);
  });

  it.each(['./nowhere', '/nowhere/tokenizer.json'])(
    'what looks like a path is not looked for on a hub: %s',
    async (path) => {
      await expect(find(path)).rejects.toMatchObject({
        code: 'ARGUMENT_INVALID',
        message: expect.stringMatching('--model'),
      });
      expect(hub.log).toEqual([]);
    },
  );
});

describe('a tokenizer on a hub', () => {
  it('is fetched alone, by commit, and the commit is told', async () => {
    const { content, origin } = await find('owner/tiny');
    expect(content.equals(CONTENT)).toBe(true);
    expect(origin).toEqual({ model: 'owner/tiny', revision: COMMIT });
    expect(said).toContain(`owner/tiny main is ${COMMIT}: --revision ${COMMIT} pins it`);
    expect(said).not.toContain('hf_secret');
    expect((await readdir(join(folder, 'hub/owner--tiny', COMMIT))).filter((name) => !name.startsWith('.'))).toEqual([
      'tokenizer.json',
    ]);
    expect(hub.log.filter((line) => line.includes('onnx'))).toEqual([]);
    expect(hub.log[0]).toMatch(/^hub .*\/revision\/main.* Bearer hf_secret$/);
  });

  it('is there the second time', async () => {
    await find('owner/tiny', COMMIT);
    const before = hub.log.length;
    await find('owner/tiny', COMMIT);
    expect(hub.log.slice(before).every((line) => line.includes('/api/models/'))).toBe(true);
    expect(said).not.toContain('pins it');
  });

  it('a model without one is told what makes one', async () => {
    await hub.close();
    hub = await startHub(new Map([['vocab.txt', Buffer.from('[PAD]')]]));
    await expect(find('owner/tiny')).rejects.toThrow(
      /owner\/tiny has no tokenizer\.json: .*save_pretrained.*--model DIR/,
    );
  });
});
