/**
 * Where a registry keeps its objects: a PORT with few, plain operations, so that S3 and a folder can do all of them. Keys
 * are relative, with `/` between their parts.
 *
 * An object appears whole or not at all, and a blob never changes: its key is its content's SHA-256. `writeSmall` with
 * 'absent' is the one operation that two writers can race for, and exactly one of them wins.
 */
export type StoredObject = { readonly key: string; readonly sizeBytes: number; readonly modifiedAtMs: number };

/** Bytes from `start` up to and without `end`. */
export type ByteRange = { readonly start: number; readonly end: number };

/** An upload that was begun and has neither ended nor been given up. */
export type Upload = { readonly id: string; readonly key: string; readonly startedAtMs: number };

/** The content of a blob, readable in parts again and again; a part that is no longer what was hashed is an error. */
export type BlobSource = {
  readonly sizeBytes: number;
  readonly partBytes: number;
  /** MD5 of each part, in hexadecimal: what S3 calls its ETag. */
  readonly partMd5: readonly string[];
  readPart(index: number): Promise<Buffer>;
};

/** Takes bytes that are safe in the store, some of them maybe from an earlier try. */
export type OnBytes = (bytes: number) => void;

export type WriteCondition = 'always' | 'absent';

export interface RegistryStorage {
  /** As a person writes it, without secrets. */
  readonly address: string;
  stat(key: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  /** An object of at most MAX_SMALL_BYTES; undefined when it is not there. */
  readSmall(key: string, signal: AbortSignal): Promise<Buffer | undefined>;
  writeSmall(key: string, bytes: Buffer, condition: WriteCondition, signal: AbortSignal): Promise<'written' | 'exists'>;
  /** Ends early when the connection breaks: the caller counts. Throws REGISTRY_NOT_FOUND when the object is not there. */
  readRange(key: string, range: ByteRange, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Goes on with an earlier upload of the same key where the store can. */
  writeBlob(key: string, source: BlobSource, onBytes: OnBytes, signal: AbortSignal): Promise<void>;
  list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject>;
  remove(key: string, signal: AbortSignal): Promise<void>;
  listUploads(prefix: string, signal: AbortSignal): AsyncIterable<Upload>;
  /** Nothing happens when it has ended meanwhile. */
  abortUpload(upload: Upload, signal: AbortSignal): Promise<void>;
  close(): void;
}

export const MAX_SMALL_BYTES = 8 * 1_024 * 1_024;
