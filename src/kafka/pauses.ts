/**
 * Which partitions must not be fetched, and why: reasons that hold all of them, and single ones that wait for room.
 *
 * kafkajs keeps its pauses over a rebalance, also of partitions that are lost meanwhile, so `changes` compares what should
 * be with what was asked for last, over all that is assigned now.
 */
import { type PartitionId, type PartitionKey, partitionKey } from '../offsets/epochs.ts';

export type PauseChanges = { readonly pause: readonly PartitionId[]; readonly resume: readonly PartitionId[] };

export class Pauses {
  readonly #reasons = new Set<string>();
  readonly #waiting = new Set<PartitionKey>();
  readonly #applied = new Map<PartitionKey, boolean>();
  /** A message waits that is too large for the room above the low mark. */
  #untilEmpty = false;

  get reasons(): readonly string[] {
    return [...this.#reasons];
  }

  get someWait(): boolean {
    return this.#waiting.size > 0;
  }

  get waitsUntilEmpty(): boolean {
    return this.#untilEmpty;
  }

  add(reason: string): void {
    this.#reasons.add(reason);
  }

  remove(reason: string): void {
    this.#reasons.delete(reason);
  }

  hold(ids: readonly PartitionId[], untilEmpty: boolean): void {
    for (const id of ids) this.#waiting.add(partitionKey(id));
    if (untilEmpty) this.#untilEmpty = true;
  }

  /** Room again: whoever waited for it goes on. */
  release(): void {
    this.#waiting.clear();
    this.#untilEmpty = false;
  }

  /** A client that was just built knows of no pause. */
  forgetApplied(): void {
    this.#applied.clear();
  }

  /** What to tell the client so that it does as it should; assumes that the caller does it. */
  changes(assigned: readonly PartitionId[]): PauseChanges {
    const pause: PartitionId[] = [];
    const resume: PartitionId[] = [];
    for (const id of assigned) {
      const key = partitionKey(id);
      const should = this.#reasons.size > 0 || this.#waiting.has(key);
      if (should === (this.#applied.get(key) ?? false)) continue;
      this.#applied.set(key, should);
      (should ? pause : resume).push(id);
    }
    return { pause, resume };
  }
}
