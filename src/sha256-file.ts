/** SHA-256 of a file of any size, in hexadecimal. Rejects with the file system's error, or with the signal's reason. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const STEP_BYTES = 1_024 * 1_024;

export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const handle = await open(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(STEP_BYTES);
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead } = await handle.read(bytes, 0, STEP_BYTES);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(bytes.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}
