/** What every store of a registry must do, whatever it is made of. */
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { partBytesFor, partRanges } from '../../../src/registry/parts.ts';
import type { BlobSource, RegistryStorage } from '../../../src/registry/storage.ts';

export type StorageUnderTest = {
  readonly name: string;
  /** A fresh, empty one. */
  open(): RegistryStorage;
};

const signal = new AbortController().signal;
const MIB = 1_024 * 1_024;

export function sourceOf(content: Buffer): BlobSource {
  const partBytes = partBytesFor(content.length);
  const parts = partRanges(content.length, partBytes).map(({ start, end }) => content.subarray(start, end));
  return {
    sizeBytes: content.length,
    partBytes,
    partMd5: parts.map((part) => createHash('md5').update(part).digest('hex')),
    readPart: async (index) => parts[index]!,
  };
}

async function read(storage: RegistryStorage, key: string, start: number, end: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of storage.readRange(key, { start, end }, signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

export function describeStorage({ name, open }: StorageUnderTest): void {
  describe(`registry storage: ${name}`, () => {
    it('says of what is not there that it is not there', async () => {
      const storage = open();
      expect(await storage.stat('a/b', signal)).toBeUndefined();
      expect(await storage.readSmall('a/b', signal)).toBeUndefined();
      await expect(read(storage, 'a/b', 0, 5)).rejects.toMatchObject({ code: 'REGISTRY_NOT_FOUND' });
      expect(await all(storage.list('a/', signal))).toEqual([]);
      await storage.remove('a/b', signal);
    });

    it('keeps what is written, and the last write wins', async () => {
      const storage = open();
      expect(await storage.writeSmall('a/b', Buffer.from('one'), 'always', signal)).toBe('written');
      expect(await storage.writeSmall('a/b', Buffer.from('two!'), 'always', signal)).toBe('written');
      expect((await storage.readSmall('a/b', signal))?.toString()).toBe('two!');
      expect(await storage.stat('a/b', signal)).toMatchObject({ key: 'a/b', sizeBytes: 4 });
    });

    it('lets one of many writers at once be the first', async () => {
      const storage = open();
      const texts = Array.from({ length: 8 }, (_, index) => `writer ${index}`);
      const answers = await Promise.all(
        texts.map((text) => storage.writeSmall('models/m/versions/1.json', Buffer.from(text), 'absent', signal)),
      );
      expect(answers.filter((answer) => answer === 'written')).toHaveLength(1);
      const winner = texts[answers.indexOf('written')];
      expect((await storage.readSmall('models/m/versions/1.json', signal))?.toString()).toBe(winner);
    });

    for (const [size, bytes] of [
      ['empty', 0],
      ['small', 1_000],
      ['of one part exactly', 16 * MIB],
      ['of several parts', 37 * MIB + 5],
    ] as const) {
      it(`gives a blob back that is ${size}, whole and in ranges`, async () => {
        const storage = open();
        const content = randomBytes(bytes);
        let told = 0;
        await storage.writeBlob('blobs/x', sourceOf(content), (part) => (told += part), signal);
        expect(told).toBe(bytes);
        expect(await storage.stat('blobs/x', signal)).toMatchObject({ sizeBytes: bytes });
        expect((await read(storage, 'blobs/x', 0, bytes)).equals(content)).toBe(true);
        const [start, end] = [Math.floor(bytes / 3), Math.floor(bytes / 2)];
        expect((await read(storage, 'blobs/x', start, end)).equals(content.subarray(start, end))).toBe(true);
        expect(await all(storage.listUploads('blobs/', signal))).toEqual([]);
      });
    }

    it('shows nothing of a blob whose source fails in the middle, nor of one that is given up', async () => {
      const storage = open();
      const source = sourceOf(randomBytes(37 * MIB));
      const failing = {
        ...source,
        readPart: (index: number) => (index < 2 ? source.readPart(index) : Promise.reject(new Error('changed'))),
      };
      await expect(storage.writeBlob('blobs/x', failing, () => {}, signal)).rejects.toThrow('changed');
      expect(await storage.stat('blobs/x', signal)).toBeUndefined();
      const stop = new AbortController();
      const stopping = {
        ...source,
        readPart: (index: number) => {
          if (index === 1) stop.abort(new Error('stopped'));
          return source.readPart(index);
        },
      };
      await expect(storage.writeBlob('blobs/x', stopping, () => {}, stop.signal)).rejects.toThrow('stopped');
      expect(await storage.stat('blobs/x', signal)).toBeUndefined();
      expect(await all(storage.list('blobs/', signal))).toEqual([]);
      for (const upload of await all(storage.listUploads('blobs/', signal))) await storage.abortUpload(upload, signal);
      expect(await all(storage.listUploads('blobs/', signal))).toEqual([]);
      await storage.writeBlob('blobs/x', source, () => {}, signal);
      expect(await storage.stat('blobs/x', signal)).toMatchObject({ sizeBytes: source.sizeBytes });
    });

    it('takes the same blob from several pushes at once', async () => {
      const storage = open();
      const content = randomBytes(33 * MIB);
      await Promise.all([1, 2, 3].map(() => storage.writeBlob('blobs/x', sourceOf(content), () => {}, signal)));
      expect((await read(storage, 'blobs/x', 0, content.length)).equals(content)).toBe(true);
    });

    it('lists by the beginning of the key, at any depth, and no more after removal', async () => {
      const storage = open();
      for (const key of ['models/a/tags/x.json', 'models/a/versions/1.json', 'models/ab/tags/x.json', 'blobs/z']) {
        await storage.writeSmall(key, Buffer.from(key), 'always', signal);
      }
      const keys = async (prefix: string) => (await all(storage.list(prefix, signal))).map(({ key }) => key).sort();
      expect(await keys('models/a/')).toEqual(['models/a/tags/x.json', 'models/a/versions/1.json']);
      expect(await keys('models/')).toHaveLength(3);
      await storage.remove('models/a/tags/x.json', signal);
      expect(await keys('models/a/')).toEqual(['models/a/versions/1.json']);
      const [blob] = await all(storage.list('blobs/', signal));
      expect(blob).toMatchObject({ key: 'blobs/z', sizeBytes: 7 });
      expect(Math.abs((blob?.modifiedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
    });
  });
}
