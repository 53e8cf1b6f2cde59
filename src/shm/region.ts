/**
 * One shared-memory region: a file of ours in /dev/shm, claimed in full and mapped for the life of the process.
 * The only home of shm-typed-array.
 *
 * The surprising fact: the file is made and filled through the file API, and the library only MAPS it. Its own
 * `create` makes a sparse file and writes the header through the mapping, so that a full mount is a SIGBUS in there,
 * which nothing can catch. A write that lacks room is an ENOSPC. The file is ours when it is mapped: made with O_EXCL
 * and mode 0600, opened to others only afterwards, so no one else has written the header that the library trusts.
 */
import { constants } from 'node:buffer';
import { unlinkSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { ServingError } from '../errors.ts';
import type { SharedMemoryRegion } from '../inference/client.ts';
import { noSpaceError, readMountSpace } from './capacity.ts';
import { type ByteRange, HEADER_BYTES } from './layout.ts';

type ShmLibrary = typeof import('shm-typed-array');

const CLAIM_CHUNK_BYTES = 1024 * 1024;

/** A server under another uid opens the file read-write, also where it only reads. */
const DEFAULT_FILE_MODE = 0o666;

/** Mappings that must outlive their region, because someone may still hold a view. */
const kept = new Set<Buffer>();

export type RegionOptions = {
  readonly basePath: string;
  /** Unique to this incarnation: see region-name.ts. */
  readonly name: string;
  /** File size, header included: `layoutFor().regionBytes`. */
  readonly regionBytes: number;
  readonly fileMode?: number;
};

export class SharedRegion {
  /** What a server is told: offset 0, and the whole file. */
  readonly registration: SharedMemoryRegion;
  readonly path: string;
  readonly #library: ShmLibrary;
  // The one strong reference: when the library's Buffer is collected, the memory is unmapped under every view.
  #bytes: Buffer | undefined;

  constructor(library: ShmLibrary, bytes: Buffer, path: string, registration: SharedMemoryRegion) {
    this.#library = library;
    this.#bytes = bytes;
    this.path = path;
    this.registration = registration;
  }

  get name(): string {
    return this.registration.name;
  }

  get closed(): boolean {
    return this.#bytes === undefined;
  }

  /** The bytes of a range, not a copy. Offsets count from the start of the file. Never touch a view after `close()`. */
  view(range: ByteRange): Buffer {
    if (this.#bytes === undefined) {
      throw new ServingError('SHM_INVALID', `region ${this.name} is closed: its memory is unmapped`);
    }
    const end = range.offset + range.byteSize;
    if (!(range.offset >= HEADER_BYTES && range.byteSize >= 0 && end <= this.registration.byteSize)) {
      throw new ServingError(
        'SHM_INVALID',
        `bytes ${range.offset}..${end} lie outside region ${this.name} (${HEADER_BYTES}..${this.registration.byteSize})`,
      );
    }
    return this.#bytes.subarray(range.offset - HEADER_BYTES, end - HEADER_BYTES);
  }

  /**
   * Removes the file and unmaps it; a second call does nothing. With `viewsMayRemain` the memory stays mapped till the
   * process ends: a touch of an unmapped view is a SIGSEGV, and a leak at the end of a process costs nothing.
   */
  close(options: { readonly viewsMayRemain?: boolean } = {}): void {
    const bytes = this.#bytes;
    if (bytes === undefined) return;
    this.#bytes = undefined;
    try {
      if (options.viewsMayRemain === true) {
        kept.add(bytes);
        unlinkSync(this.path);
      } else {
        this.#library.detach(this.registration.key, true);
      }
    } catch (cause) {
      if (errorCode(cause) === 'ENOENT') return;
      throw new ServingError('SHM_INVALID', `region file ${this.path} could not be removed; delete it by hand`, {
        cause,
      });
    }
  }
}

/** Throws SHM_NO_SPACE when the mount fills up; leaves no file behind on failure. */
export async function createRegion(options: RegionOptions): Promise<SharedRegion> {
  const { basePath, name, regionBytes } = options;
  if (!isMainThread) throw new ServingError('SHM_INVALID', 'shared-memory regions live on the main thread only');
  if (regionBytes > constants.MAX_LENGTH) {
    throw new ServingError(
      'SHM_INVALID',
      `a region of ${regionBytes} bytes is above the ${constants.MAX_LENGTH} that this Node can map; lower RAG_SERVING_SHM_SLOTS`,
    );
  }
  const library = await loadLibrary();
  const path = join(basePath, name);
  const file = await openNew(path);
  try {
    await claim(file, regionBytes);
    const bytes = mapOwnFile(library, `/${name}`, regionBytes);
    try {
      await file.chmod(options.fileMode ?? DEFAULT_FILE_MODE);
    } catch (cause) {
      library.detach(`/${name}`, true);
      throw cause;
    }
    return new SharedRegion(library, bytes, path, { name, key: `/${name}`, offset: 0, byteSize: regionBytes });
  } catch (cause) {
    await unlink(path).catch(() => {});
    throw await translate(cause, basePath, regionBytes);
  } finally {
    await file.close();
  }
}

async function loadLibrary(): Promise<ShmLibrary> {
  try {
    return await import('shm-typed-array');
  } catch (cause) {
    throw new ServingError(
      'DEPENDENCY_MISSING',
      'the native part of shm-typed-array cannot be loaded: run `npm rebuild shm-typed-array` with a C++ compiler, or set RAG_SERVING_SHM_SLOTS=0',
      { cause },
    );
  }
}

/** O_EXCL: neither a file, a directory nor a symlink in the way is ever opened. */
async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx+', 0o600);
  } catch (cause) {
    const taken = errorCode(cause) === 'EEXIST';
    throw new ServingError('SHM_INVALID', `region file ${path} ${taken ? 'exists already' : 'cannot be created'}`, {
      cause,
    });
  }
}

/** Header, then zeros to the end: each page is ours before anyone maps it. */
async function claim(file: FileHandle, regionBytes: number): Promise<void> {
  const chunk = Buffer.alloc(Math.min(CLAIM_CHUNK_BYTES, regionBytes));
  chunk.writeBigUInt64LE(BigInt(regionBytes - HEADER_BYTES), 0);
  for (let at = 0; at < regionBytes; ) {
    const { bytesWritten } = await file.write(chunk, 0, Math.min(chunk.byteLength, regionBytes - at), at);
    if (at === 0) chunk.fill(0, 0, HEADER_BYTES);
    at += bytesWritten;
  }
}

function mapOwnFile(library: ShmLibrary, key: string, regionBytes: number): Buffer {
  const bytes = library.get(key, 'Buffer');
  if (bytes === null) throw new ServingError('SHM_INVALID', `shm_open does not find ${key}, which was just created`);
  if (bytes.byteLength === regionBytes - HEADER_BYTES) return bytes;
  library.detach(key, true);
  throw new ServingError('SHM_INVALID', `${key} was changed by someone else while it was created`);
}

async function translate(cause: unknown, basePath: string, neededBytes: number): Promise<ServingError> {
  if (cause instanceof ServingError) return cause;
  if (['ENOSPC', 'EDQUOT', 'ENOMEM'].includes(errorCode(cause) ?? '')) {
    return noSpaceError(basePath, neededBytes, (await readMountSpace(basePath)).freeBytes, cause);
  }
  return new ServingError('SHM_INVALID', `a region of ${neededBytes} bytes could not be made in ${basePath}`, {
    cause,
  });
}

function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
