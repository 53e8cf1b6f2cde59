/**
 * A registry in a folder: a disk that machines share, or one for trying. Objects are files; each is written beside its
 * place and gets its name when it is whole and on the disk. An upload that was cut off begins anew: copying is cheap.
 */
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ServingError } from '../errors.ts';
import { syncPath, writeDurably } from './durable-files.ts';
import { asFileError, errnoOf } from './file-errors.ts';
import type {
  BlobSource,
  ByteRange,
  OnBytes,
  RegistryStorage,
  StoredObject,
  Upload,
  WriteCondition,
} from './storage.ts';

/** Uploads that are on their way: `<key's last part>.<process id and a number>`. */
const UPLOADS = '.uploads';

export class FileStorage implements RegistryStorage {
  readonly address: string;
  readonly #root: string;
  #uploads = 0;

  constructor(root: string) {
    this.#root = root;
    this.address = `file://${root}`;
  }

  async stat(key: string): Promise<StoredObject | undefined> {
    return await this.#told(`looking for ${key}`, async () => {
      const found = await absentAsUndefined(stat(this.#path(key)));
      if (found?.isFile() !== true) return undefined;
      return { key, sizeBytes: found.size, modifiedAtMs: found.mtimeMs };
    });
  }

  async readSmall(key: string): Promise<Buffer | undefined> {
    return await this.#told(`reading ${key}`, () => absentAsUndefined(readFile(this.#path(key))));
  }

  async writeSmall(key: string, bytes: Buffer, condition: WriteCondition): Promise<'written' | 'exists'> {
    return await this.#told(`writing ${key}`, () => writeDurably(this.#path(key), bytes, condition));
  }

  async *readRange(key: string, { start, end }: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array> {
    if ((await this.stat(key)) === undefined) {
      throw new ServingError('REGISTRY_NOT_FOUND', `${this.address}: ${key} is not there`);
    }
    if (end <= start) return;
    try {
      yield* createReadStream(this.#path(key), { start, end: end - 1, signal }) as AsyncIterable<Buffer>;
    } catch (error) {
      throw asFileError(error, `${this.address}: reading ${key}`);
    }
  }

  async writeBlob(key: string, source: BlobSource, onBytes: OnBytes, signal: AbortSignal): Promise<void> {
    const uploads = join(this.#root, UPLOADS);
    const temporary = join(uploads, `${basename(key)}.${process.pid}-${++this.#uploads}`);
    await this.#told(`writing ${key}`, async () => {
      await mkdir(uploads, { recursive: true });
      try {
        const target = await open(temporary, 'wx');
        try {
          for (const index of source.partMd5.keys()) {
            signal.throwIfAborted();
            const part = await source.readPart(index);
            await target.writeFile(part);
            onBytes(part.length);
          }
          await target.sync();
        } finally {
          await target.close();
        }
        const path = this.#path(key);
        await mkdir(dirname(path), { recursive: true });
        await rename(temporary, path);
        await syncPath(dirname(path));
      } finally {
        await rm(temporary, { force: true });
      }
    });
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    const options = { recursive: true, withFileTypes: true } as const;
    const entries = await this.#told(`listing ${prefix}`, () =>
      absentAsUndefined(readdir(this.#path(folder), options)),
    );
    for (const entry of entries ?? []) {
      if (!entry.isFile() || entry.name.startsWith('.')) continue;
      const key = join(entry.parentPath, entry.name).slice(this.#root.length + 1);
      if (!key.startsWith(prefix)) continue;
      const found = await this.stat(key);
      if (found !== undefined) yield found;
    }
  }

  async remove(key: string): Promise<void> {
    await this.#told(`removing ${key}`, () => rm(this.#path(key), { force: true }));
  }

  async *listUploads(prefix: string): AsyncIterable<Upload> {
    const names =
      (await this.#told('listing uploads', () => absentAsUndefined(readdir(join(this.#root, UPLOADS))))) ?? [];
    for (const name of names) {
      const found = await absentAsUndefined(stat(join(this.#root, UPLOADS, name)));
      // A copy that goes on touches its file.
      if (found !== undefined) {
        yield { id: name, key: `${prefix}${name.split('.')[0]}`, startedAtMs: found.mtimeMs };
      }
    }
  }

  async abortUpload({ id }: Upload): Promise<void> {
    await this.#told('removing an upload', () => rm(join(this.#root, UPLOADS, basename(id)), { force: true }));
  }

  close(): void {}

  #path(key: string): string {
    return join(this.#root, key);
  }

  async #told<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asFileError(error, `${this.address}: ${doing}`);
    }
  }
}

async function absentAsUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
