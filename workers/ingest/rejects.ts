/**
 * Entries that were rejected: the first are told at the terminal, all of them go into a file where one is asked for.
 *
 * The file grows together with the checkpoint: what a killed run wrote beyond its last checkpoint is cut off, for those
 * entries are read again. It says where and why, never what.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { ServingError } from '../../src/errors.ts';

export type Reject = {
  readonly file: string;
  /** Line, row, or number of the chunk in its document. */
  readonly line: number;
  /** Position inside a batch message. */
  readonly chunk?: number;
  readonly stage: string;
  readonly code: string;
  readonly reason: string;
};

const SHOWN = 20;

export class Rejects {
  readonly #show: (line: string) => void;
  #handle: FileHandle | undefined;
  #bytes = 0;
  #waiting: string[] = [];
  #count = 0;

  constructor(show: (line: string) => void) {
    this.#show = show;
  }

  /** @param keptBytes what of the file belongs to the run that is gone on with */
  async openFile(path: string, keptBytes: number): Promise<void> {
    try {
      const handle = await open(path, keptBytes > 0 ? 'r+' : 'w');
      this.#handle = handle;
      this.#bytes = Math.min(keptBytes, (await handle.stat()).size);
      await handle.truncate(this.#bytes);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
      throw new ServingError('ARGUMENT_INVALID', `--rejects ${path} cannot be written (${code})`, { cause: error });
    }
  }

  add(reject: Reject): void {
    this.#count++;
    const { file, line, chunk, code, reason } = reject;
    const where = chunk === undefined ? `${file}:${line}` : `${file}:${line} chunk ${chunk}`;
    if (this.#count <= SHOWN) this.#show(`rejected: ${where}: ${code}: ${reason}`);
    else if (this.#count === SHOWN + 1) this.#show('rejected: more follow and are only counted here');
    if (this.#handle !== undefined) this.#waiting.push(`${JSON.stringify(reject)}\n`);
  }

  /** What belongs to the state of this very moment, to be written; resolves with the length of the file then. */
  flush(): Promise<number> {
    const bytes = Buffer.from(this.#waiting.join(''), 'utf8');
    this.#waiting = [];
    return this.#write(bytes);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #write(bytes: Buffer): Promise<number> {
    const handle = this.#handle;
    if (handle === undefined || bytes.byteLength === 0) return this.#bytes;
    let written = 0;
    while (written < bytes.byteLength) {
      const { bytesWritten } = await handle.write(bytes, written, bytes.byteLength - written, this.#bytes + written);
      written += bytesWritten;
    }
    await handle.sync();
    this.#bytes += written;
    return this.#bytes;
  }
}
