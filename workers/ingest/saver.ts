/** Writes the checkpoint at intervals, one at a time; rejects first, so that the checkpoint never tells of some that are not there. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FileMark, writeCheckpoint } from './checkpoint.ts';
import type { OpenFile } from './open-file.ts';
import type { Rejects } from './rejects.ts';

export type SaverOptions = {
  readonly folder: string;
  readonly target: string;
  readonly files: readonly OpenFile[];
  /** Of inputs that this run was not given. */
  readonly others: readonly FileMark[];
  readonly rejects: Rejects;
  readonly rejectsPath: string | undefined;
  readonly onFailure: (error: unknown) => void;
};

const EVERY_MS = 1_000;
/** With very many files a checkpoint is large: no more than this part of the time goes into writing it. */
const SHARE = 0.1;

export class Saver {
  readonly #options: SaverOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: SaverOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run().catch((error: unknown) => this.#options.onFailure(error));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** The state of this moment, durably. */
  async save(): Promise<void> {
    const { folder, target, files, others, rejects, rejectsPath } = this.#options;
    // Both of the same moment: nothing is awaited in between.
    const marks = [...others, ...files.map(({ mark }) => mark)];
    const bytes = await rejects.flush();
    const kept = rejectsPath === undefined ? {} : { rejects: { path: rejectsPath, bytes } };
    await writeCheckpoint(folder, { version: 1, target, marks, ...kept });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let waitMs = EVERY_MS;
    while (!signal.aborted) {
      await sleep(waitMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const startedAt = performance.now();
      await this.save();
      waitMs = Math.max(EVERY_MS, (performance.now() - startedAt) / SHARE);
    }
  }
}
