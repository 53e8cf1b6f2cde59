/** Collects replays into transactions of bounded size; pure. */
import type { LetterReplay } from '../../src/kafka/redrive.ts';

export type BatchLimits = { readonly letters: number; readonly bytes: number };

export class ReplayBatch {
  readonly #limits: BatchLimits;
  readonly #bytesOf: (replay: LetterReplay) => number;
  #batch: LetterReplay[] = [];
  #bytes = 0;

  constructor(limits: BatchLimits, bytesOf: (replay: LetterReplay) => number) {
    this.#limits = limits;
    this.#bytesOf = bytesOf;
  }

  /** Adds one; what comes back is full and goes first. One that is too large by itself goes alone. */
  add(replay: LetterReplay): readonly LetterReplay[] {
    const bytes = this.#bytesOf(replay);
    const isFull = this.#batch.length >= this.#limits.letters || this.#bytes + bytes > this.#limits.bytes;
    const full = isFull ? this.rest() : [];
    this.#batch.push(replay);
    this.#bytes += bytes;
    return full;
  }

  rest(): readonly LetterReplay[] {
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    return batch;
  }
}
