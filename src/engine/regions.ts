/**
 * RegionRegistry: system shared memory as Triton keeps it, with its statuses and words.
 *
 * The file is opened read-write at registration and the descriptor kept, so the inode is bound then: unlinking the
 * file and making a new one of the same name changes nothing until it is registered again. Bytes move by positional
 * reads and writes, never by a mapping: a file that somebody shrinks is an error here, where a mapping would be SIGBUS.
 */
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RegionRange } from '../kserve/tensor.ts';
import { invalidArgument, WireFault } from './wire-fault.ts';

export type RegionInfo = {
  readonly name: string;
  readonly key: string;
  readonly offset: number;
  readonly byteSize: number;
};

type Region = RegionInfo & { readonly fd: number; users: number; registered: boolean };

/** A checked range of a region, which cannot be unregistered while it is held: a running request ends as it would have. */
export type RegionWindow = {
  readonly byteSize: number;
  read(): Uint8Array;
  /** Writes at the start of the range. */
  write(bytes: Uint8Array): void;
  release(): void;
};

export type RegionOptions = { readonly basePath: string; readonly allowClientSharedMemory: boolean };

// mmap takes only offsets that are a multiple of the page size.
const PAGE_BYTES = 4096;

export class RegionRegistry {
  readonly #options: RegionOptions;
  readonly #regions = new Map<string, Region>();

  constructor(options: RegionOptions) {
    this.#options = options;
  }

  register(info: RegionInfo): void {
    this.#requireAllowed();
    const { name, key, offset, byteSize } = info;
    if (this.#regions.has(name)) {
      throw new WireFault('ALREADY_EXISTS', `shared memory region '${name}' already in manager`);
    }
    for (const other of this.#regions.values()) {
      if (other.key === key) throw new WireFault('INTERNAL', `Invalid shared memory region: '${key}'`);
    }
    const fd = this.#open(key);
    try {
      const fileBytes = fstatSync(fd).size;
      if (offset + byteSize > fileBytes) {
        throw invalidArgument(`failed to register shared memory region '${name}': invalid args`);
      }
      // The missing blank is in the original.
      if (byteSize <= 0 || offset % PAGE_BYTES !== 0) {
        throw invalidArgument(
          `failed to register shared memory region '${name}': unable to process address spaceInvalid argument`,
        );
      }
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    this.#regions.set(name, { ...info, fd, users: 0, registered: true });
  }

  /** Unknown names are fine; the empty name means all. What a running request uses stays, and is an error. */
  unregister(name: string): void {
    this.#requireAllowed();
    const leaving = name === '' ? [...this.#regions.values()] : [this.#regions.get(name)];
    const inUse: string[] = [];
    for (const region of leaving) {
      if (region === undefined) continue;
      if (region.users > 0) inUse.push(region.name);
      else this.#forget(region);
    }
    if (inUse.length === 0) return;
    throw new WireFault(
      'INTERNAL',
      name === ''
        ? `Failed to unregister the following system shared memory regions: ${inUse.join(' ')}`
        : `Cannot unregister shared memory region '${name}', it is currently in use.`,
    );
  }

  /** One region, or all for the empty name. */
  status(name: string): readonly RegionInfo[] {
    if (name === '') return [...this.#regions.values()];
    const region = this.#regions.get(name);
    if (region === undefined) throw new WireFault('NOT_FOUND', `Unable to find system shared memory region: '${name}'`);
    return [region];
  }

  /** Checks a tensor's range. Its offset counts from the offset of the registration, which is 0 in all our own use. */
  window(range: RegionRange): RegionWindow {
    const region = this.#regions.get(range.region);
    if (region === undefined) {
      throw new WireFault('NOT_FOUND', `Unable to find shared memory region: '${range.region}'`);
    }
    if (range.offset < 0 || range.offset >= region.byteSize) {
      throw invalidArgument(`Invalid offset for shared memory region: '${range.region}'`);
    }
    if (range.byteSize < 0 || range.offset + range.byteSize > region.byteSize) {
      throw invalidArgument(`Invalid offset + byte size for shared memory region: '${range.region}'`);
    }
    region.users++;
    let released = false;
    const position = region.offset + range.offset;
    return {
      byteSize: range.byteSize,
      read: () => readFully(region, position, range.byteSize),
      write: (bytes) => writeFully(region, position, bytes),
      release: () => {
        if (released) return;
        released = true;
        region.users--;
        closeIfUnused(region);
      },
    };
  }

  close(): void {
    for (const region of this.#regions.values()) this.#forget(region);
  }

  #forget(region: Region): void {
    this.#regions.delete(region.name);
    region.registered = false;
    closeIfUnused(region);
  }

  #requireAllowed(): void {
    if (this.#options.allowClientSharedMemory) return;
    throw new WireFault(
      'UNIMPLEMENTED',
      "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
    );
  }

  // What shm_open does: one name under the mount, no folder in it, no link followed.
  #open(key: string): number {
    const name = key.replace(/^\/+/, '');
    const cannotOpen = `Unable to open shared memory region: '${key}'`;
    if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
      throw new WireFault('INTERNAL', cannotOpen);
    }
    let fd: number;
    try {
      // O_NONBLOCK: a FIFO of that name must not hold the whole engine.
      fd = openSync(join(this.#options.basePath, name), constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      throw new WireFault('INTERNAL', cannotOpen, 'OTHER', error);
    }
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    throw new WireFault('INTERNAL', cannotOpen);
  }
}

function closeIfUnused(region: Region): void {
  if (!region.registered && region.users === 0) closeSync(region.fd);
}

function readFully(region: Region, position: number, byteSize: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(byteSize);
  let done = 0;
  while (done < byteSize) {
    const read = readSync(region.fd, bytes, done, byteSize - done, position + done);
    if (read === 0) {
      throw new WireFault('INTERNAL', `shared memory region '${region.name}' ends before the range: its file was cut`);
    }
    done += read;
  }
  return bytes;
}

function writeFully(region: Region, position: number, bytes: Uint8Array): void {
  // A write past the end would grow the file silently.
  if (position + bytes.byteLength > fstatSync(region.fd).size) {
    throw new WireFault('INTERNAL', `shared memory region '${region.name}' ends before the range: its file was cut`);
  }
  let done = 0;
  while (done < bytes.byteLength) {
    done += writeSync(region.fd, bytes, done, bytes.byteLength - done, position + done);
  }
}
