/** The bytes of an input as they are meant: unpacked where the file is packed, a block at a time. */
import { createReadStream, type ReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Input } from './inputs.ts';
import { unzstd } from './unzstd.ts';

export type OpenBytes = {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Bytes of the file read so far, packed as they are. */
  readBytes(): number;
};

const BLOCK_BYTES = 262_144;

/** Path `-` is standard input. */
export function openBytes({ path, compression }: Pick<Input, 'path' | 'compression'>): OpenBytes {
  if (path === '-') return { bytes: process.stdin, readBytes: () => 0 };
  const file = createReadStream(path, { highWaterMark: BLOCK_BYTES });
  return { bytes: unpacked(file, compression), readBytes: () => file.bytesRead };
}

function unpacked(file: ReadStream, compression: Input['compression']): AsyncIterable<Uint8Array> {
  if (compression === undefined) return file;
  if (compression === 'zst') return unzstd(file);
  // The end of either is the end of both; what went wrong comes out of the iteration.
  return pipeline(file, createGunzip({ chunkSize: BLOCK_BYTES }), () => {});
}

/** Why a file cannot be read on, without anything of what is in it. */
export function readProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  if (code === 'Z_BUF_ERROR') return 'the gzip data end in the middle: the file is cut';
  if (code?.startsWith('Z_') === true) return `not valid gzip data (${code})`;
  if (code !== undefined && /^[A-Z_]{3,40}$/.test(code)) return `cannot be read (${code})`;
  return error instanceof Error ? error.message : 'cannot be read';
}
