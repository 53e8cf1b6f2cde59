/** What tells one state of a file from another without reading it all: size, time of change, and the hash of its beginning. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const HEAD_BYTES = 65_536;

export async function fileIdentity(path: string): Promise<string> {
  const handle = await open(path, 'r');
  try {
    const { size, mtimeMs } = await handle.stat();
    const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
    const { bytesRead } = await handle.read(head, 0, head.byteLength, 0);
    const sum = createHash('sha256').update(head.subarray(0, bytesRead)).digest('hex').slice(0, 16);
    return `${size}-${Math.round(mtimeMs)}-${sum}`;
  } finally {
    await handle.close();
  }
}
