/** A registry in a bucket of S3, or of a server that speaks like it. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';
import { ServingError } from '../../errors.ts';
import {
  type BlobSource,
  type ByteRange,
  MAX_SMALL_BYTES,
  type OnBytes,
  type RegistryStorage,
  type StoredObject,
  type Upload,
  type WriteCondition,
} from '../storage.ts';
import { createS3Client, type S3Options } from './s3-client.ts';
import { asS3Error, factsOf } from './s3-errors.ts';
import { giveUpUpload, isOvertaken, unfinishedUploads, uploadInParts } from './s3-multipart.ts';

/** Parts of an upload that another push ended or gave up: so often is it begun anew. */
const UPLOAD_TRIES = 3;

export class S3Storage implements RegistryStorage {
  readonly address: string;
  readonly #client: S3Client;
  readonly #options: S3Options;

  constructor(options: S3Options) {
    this.#options = options;
    this.#client = createS3Client(options);
    this.address = `s3://${options.bucket}/${options.prefix}`;
  }

  stat(key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    return this.#told(`looking for ${key}`, signal, async () => {
      const command = new HeadObjectCommand(this.#at(key));
      const found = await absentAsUndefined(this.#client.send(command, { abortSignal: signal }));
      if (found === undefined) return undefined;
      return { key, sizeBytes: found.ContentLength ?? 0, modifiedAtMs: found.LastModified?.getTime() ?? 0 };
    });
  }

  readSmall(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
    return this.#told(`reading ${key}`, signal, async () => {
      const command = new GetObjectCommand(this.#at(key));
      const found = await absentAsUndefined(this.#client.send(command, { abortSignal: signal }));
      if (found?.Body === undefined) return undefined;
      if ((found.ContentLength ?? 0) > MAX_SMALL_BYTES) {
        (found.Body as NodeJS.ReadableStream & { destroy(): void }).destroy();
        throw new ServingError('REGISTRY_CORRUPT', `${this.address}: ${key} has ${found.ContentLength} bytes; refused`);
      }
      return Buffer.from(await found.Body.transformToByteArray());
    });
  }

  writeSmall(
    key: string,
    bytes: Buffer,
    condition: WriteCondition,
    signal: AbortSignal,
  ): Promise<'written' | 'exists'> {
    return this.#told(`writing ${key}`, signal, async () => {
      const put = (IfNoneMatch?: '*') =>
        this.#client.send(
          new PutObjectCommand({ ...this.#at(key), Body: bytes, ...(IfNoneMatch && { IfNoneMatch }) }),
          {
            abortSignal: signal,
          },
        );
      if (condition === 'always') {
        await put();
        return 'written';
      }
      try {
        await put('*');
        return 'written';
      } catch (error) {
        const status = error instanceof Error ? factsOf(error).status : undefined;
        if (status === 412) return 'exists';
        // 409: another writer is at it just now. 501: a server without conditional writes, which then has a gap between the two.
        if (status !== 409 && status !== 501) throw error;
        if ((await this.stat(key, signal)) !== undefined) return 'exists';
        await put(status === 409 ? '*' : undefined);
        return 'written';
      }
    });
  }

  async *readRange(key: string, { start, end }: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array> {
    if (end <= start) return;
    const doing = `reading ${key}`;
    const found = await this.#told(doing, signal, async () => {
      const command = new GetObjectCommand({ ...this.#at(key), Range: `bytes=${start}-${end - 1}` });
      return await absentAsUndefined(this.#client.send(command, { abortSignal: signal }));
    });
    if (found?.Body === undefined) {
      throw new ServingError('REGISTRY_NOT_FOUND', `${this.address}: ${key} is not there; push the model again`);
    }
    // A server that knows no ranges sends it all: what is before and after is left out by whoever counts, so refuse it.
    if (found.ContentRange === undefined && (start > 0 || (found.ContentLength ?? end) > end)) {
      (found.Body as NodeJS.ReadableStream & { destroy(): void }).destroy();
      throw new ServingError(
        'REGISTRY_UNAVAILABLE',
        `${this.address}: the server knows no byte ranges; use another one`,
      );
    }
    try {
      yield* found.Body as unknown as AsyncIterable<Uint8Array>;
    } catch (error) {
      signal.throwIfAborted();
      throw asS3Error(error, this.#options, doing);
    }
  }

  writeBlob(key: string, source: BlobSource, onBytes: OnBytes, signal: AbortSignal): Promise<void> {
    return this.#told(`writing ${key}`, signal, async () => {
      if (source.partMd5.length === 1) {
        const Body = await source.readPart(0);
        await this.#client.send(new PutObjectCommand({ ...this.#at(key), Body }), { abortSignal: signal });
        return onBytes(Body.length);
      }
      const { Key, Bucket: bucket } = this.#at(key);
      const target = { client: this.#client, bucket, key: Key, concurrency: this.#options.concurrency };
      for (let attempt = 1; ; attempt++) {
        let counted = 0;
        const count = (bytes: number) => {
          counted += bytes;
          onBytes(bytes);
        };
        try {
          return await uploadInParts(target, source, count, signal);
        } catch (error) {
          signal.throwIfAborted();
          if (!isOvertaken(error)) throw error;
          onBytes(-counted);
          // Another push of the same content came first.
          if ((await this.stat(key, signal))?.sizeBytes === source.sizeBytes) return onBytes(source.sizeBytes);
          if (attempt === UPLOAD_TRIES) throw error;
        }
      }
    });
  }

  async *list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject> {
    const { Bucket, Key: Prefix } = this.#at(prefix);
    const pages = paginateListObjectsV2({ client: this.#client }, { Bucket, Prefix }, { abortSignal: signal });
    try {
      for await (const { Contents = [] } of pages) {
        for (const { Key = '', Size = 0, LastModified } of Contents) {
          yield { key: this.#without(Key), sizeBytes: Size, modifiedAtMs: LastModified?.getTime() ?? 0 };
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      throw asS3Error(error, this.#options, `listing ${prefix}`);
    }
  }

  remove(key: string, signal: AbortSignal): Promise<void> {
    return this.#told(`removing ${key}`, signal, async () => {
      await this.#client.send(new DeleteObjectCommand(this.#at(key)), { abortSignal: signal });
    });
  }

  async *listUploads(prefix: string, signal: AbortSignal): AsyncIterable<Upload> {
    const { Bucket, Key } = this.#at(prefix);
    try {
      for await (const upload of unfinishedUploads(this.#client, Bucket, Key, signal)) {
        yield { ...upload, key: this.#without(upload.key) };
      }
    } catch (error) {
      signal.throwIfAborted();
      throw asS3Error(error, this.#options, 'listing unfinished uploads');
    }
  }

  abortUpload(upload: Upload, signal: AbortSignal): Promise<void> {
    const { Bucket, Key } = this.#at(upload.key);
    return this.#told('giving up an upload', signal, () =>
      giveUpUpload(this.#client, Bucket, { ...upload, key: Key }, signal),
    );
  }

  close(): void {
    this.#client.destroy();
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: `${this.#options.prefix}${key}` };
  }

  #without(key: string): string {
    return key.slice(this.#options.prefix.length);
  }

  async #told<T>(doing: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      signal.throwIfAborted();
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw asS3Error(error, this.#options, doing);
    }
  }
}

async function absentAsUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    const { name, status } = error instanceof Error ? factsOf(error) : { name: '', status: 0 };
    if (status === 404 && (name === 'NotFound' || name === 'NoSuchKey')) return undefined;
    throw error;
  }
}
