/**
 * A file's SHA-256, and what it takes to send it in parts: read once, from its first byte to its last. When a part is read
 * again to be sent, it must still be what was hashed: a file that a build is writing just now is no model.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { ServingError } from '../errors.ts';
import { partBytesFor, partRanges } from './parts.ts';
import type { ScannedFile } from './scan.ts';
import type { BlobSource } from './storage.ts';

const STEP_BYTES = 1_024 * 1_024;

export type HashedFile = ScannedFile & { readonly sha256: string; readonly source: BlobSource };

export async function hashFile(
  file: ScannedFile,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<HashedFile> {
  const partBytes = partBytesFor(file.sizeBytes);
  const ranges = partRanges(file.sizeBytes, partBytes);
  const whole = createHash('sha256');
  const partMd5: string[] = [];
  const handle = await open(file.absolute, 'r');
  try {
    for (const { start, end } of ranges) {
      const part = createHash('md5');
      for (let at = start; at < end; at += STEP_BYTES) {
        signal.throwIfAborted();
        const bytes = await readExactly(handle, at, Math.min(end, at + STEP_BYTES) - at, file.path);
        whole.update(bytes);
        part.update(bytes);
        onBytes(bytes.length);
      }
      partMd5.push(part.digest('hex'));
    }
    if ((await handle.stat()).size !== file.sizeBytes) throw changed(file.path);
  } finally {
    await handle.close();
  }
  const readPart = async (index: number): Promise<Buffer> => {
    const { start, end } = ranges[index]!;
    const again = await open(file.absolute, 'r');
    try {
      const bytes = await readExactly(again, start, end - start, file.path);
      if (createHash('md5').update(bytes).digest('hex') !== partMd5[index]) throw changed(file.path);
      return bytes;
    } finally {
      await again.close();
    }
  };
  return { ...file, sha256: whole.digest('hex'), source: { sizeBytes: file.sizeBytes, partBytes, partMd5, readPart } };
}

async function readExactly(handle: FileHandle, position: number, length: number, path: string): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let have = 0;
  while (have < length) {
    const { bytesRead } = await handle.read(bytes, have, length - have, position + have);
    if (bytesRead === 0) throw changed(path);
    have += bytesRead;
  }
  return bytes;
}

function changed(path: string): ServingError {
  return new ServingError(
    'ARGUMENT_INVALID',
    `${JSON.stringify(path)} changed while it was being pushed; nothing was published: push again when it is finished`,
  );
}
