/**
 * One range of a blob into its place in a file. A connection that breaks, or brings nothing for too long, is gone on with from
 * the byte that was reached; each byte that arrives makes the tries begin anew.
 */
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { boundedWait } from '../bounded-wait.ts';
import { isServingError, ServingError } from '../errors.ts';
import { backoffMs } from '../resilience/backoff.ts';
import { asFileError } from './file-errors.ts';
import type { ByteRange, RegistryStorage } from './storage.ts';

export type Patience = {
  readonly attempts: number;
  readonly timeoutMs: number;
  readonly backoff: { readonly baseMs: number; readonly maxMs: number };
  readonly random: () => number;
};

export type Piece = {
  readonly storage: RegistryStorage;
  readonly key: string;
  readonly range: ByteRange;
  readonly target: FileHandle;
  readonly patience: Patience;
  readonly onBytes: (bytes: number) => void;
};

export async function fetchRange(piece: Piece, signal: AbortSignal): Promise<void> {
  const { attempts, backoff, random } = piece.patience;
  let at = piece.range.start;
  for (let failures = 0; at < piece.range.end; ) {
    const before = at;
    try {
      for await (const bytes of arriving(piece, at, signal)) {
        if (at + bytes.length > piece.range.end) throw broken(piece, 'it sends more than was asked for');
        await writeAll(piece, bytes, at);
        at += bytes.length;
        piece.onBytes(bytes.length);
      }
      if (at < piece.range.end) throw broken(piece, `the answer ended at byte ${at} of ${piece.range.end}`);
    } catch (error) {
      signal.throwIfAborted();
      if (!isServingError(error, 'REGISTRY_UNAVAILABLE')) throw error;
      failures = at > before ? 1 : failures + 1;
      if (failures >= attempts) throw error;
      await sleep(backoffMs(failures, backoff, random()), undefined, { signal });
    }
  }
}

/** Ends with an error when nothing comes for too long; the request ends with it. */
async function* arriving(piece: Piece, start: number, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const { storage, key, range, patience } = piece;
  const end = new AbortController();
  const stream = storage.readRange(key, { start, end: range.end }, AbortSignal.any([signal, end.signal]));
  const iterator = stream[Symbol.asyncIterator]();
  const gaveUp = () => broken(piece, `nothing came for ${patience.timeoutMs} ms`);
  try {
    for (;;) {
      const next = await boundedWait(iterator.next(), { maxWaitMs: patience.timeoutMs, signal }, gaveUp);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    end.abort();
  }
}

async function writeAll({ target, key }: Piece, bytes: Uint8Array, position: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await target.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  } catch (error) {
    throw asFileError(error, `keeping ${key}`);
  }
}

function broken({ storage, key }: Piece, why: string): ServingError {
  return new ServingError(
    'REGISTRY_UNAVAILABLE',
    `${storage.address}: reading ${key}: ${why}; run it again, which goes on where it stopped`,
  );
}
