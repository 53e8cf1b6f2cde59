/**
 * Journal of `--journal`: one line `<milliseconds since the epoch> <SHA-256 of the text>` for each row that was executed.
 *
 * A test tells from it which texts were embedded twice, and when, which counters cannot say. A line is in the kernel's
 * hands before the answer leaves, so that a killed engine has told of everything that a client can have got from it.
 */
import { hash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { ServingError } from '../errors.ts';
import type { Columns, Compute, ComputeResult } from './compute.ts';

export class Journal {
  #file: number | undefined;

  constructor(path: string) {
    try {
      this.#file = openSync(path, 'a');
    } catch (cause) {
      throw new ServingError(
        'CONFIG_INVALID',
        `--journal ${path} cannot be written: give a file in a folder that exists`,
        {
          cause,
        },
      );
    }
  }

  /** The same compute, with what it executes noted. A request that ended in a fault is noted too: it was executed. */
  around(compute: Compute): Compute {
    return {
      run: async (requests) => {
        const results: readonly ComputeResult[] = await compute.run(requests);
        this.#note(requests);
        return results;
      },
    };
  }

  /** What is executed after it is not noted: its engine has given up waiting. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #note(requests: readonly Columns[]): void {
    if (this.#file === undefined) return;
    const at = Date.now();
    const lines = requests.flatMap(([texts]) => (texts ?? []).map((text) => `${at} ${hash('sha256', text)}\n`));
    writeSync(this.#file, lines.join(''));
  }
}
