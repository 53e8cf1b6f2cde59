/**
 * Which partitions must not be fetched, and why: reasons that hold all of them, and reasons that single ones wait for.
 *
 * kafkajs keeps its pauses over a rebalance, also of partitions that are lost meanwhile, so `changes` compares what should
 * be with what was asked for last, over all that is assigned now.
 */
import { type PartitionId, type PartitionKey, partitionKey } from '../offsets/epochs.ts';

export const waitReasons = [
  'in-flight limit',
  'offsets not read yet',
  'commit metadata full',
  'schema not read yet',
] as const;
export type WaitReason = (typeof waitReasons)[number];

export type PauseChanges = { readonly pause: readonly PartitionId[]; readonly resume: readonly PartitionId[] };

export class Pauses {
  readonly #reasons = new Set<string>();
  readonly #waiting = new Map<WaitReason, Map<PartitionKey, PartitionId>>();
  readonly #applied = new Map<PartitionKey, boolean>();

  /** Why all of them wait. */
  get reasons(): readonly string[] {
    return [...this.#reasons];
  }

  add(reason: string): void {
    this.#reasons.add(reason);
  }

  remove(reason: string): void {
    this.#reasons.delete(reason);
  }

  hold(reason: WaitReason, ids: readonly PartitionId[]): void {
    const held = this.#waiting.get(reason) ?? new Map<PartitionKey, PartitionId>();
    for (const id of ids) held.set(partitionKey(id), id);
    if (held.size > 0) this.#waiting.set(reason, held);
  }

  release(reason: WaitReason, ids: readonly PartitionId[] = this.waitingFor(reason)): void {
    const held = this.#waiting.get(reason);
    if (held === undefined) return;
    for (const id of ids) held.delete(partitionKey(id));
    if (held.size === 0) this.#waiting.delete(reason);
  }

  /** Partitions that went to others wait for nothing here. */
  forget(ids: readonly PartitionId[]): void {
    for (const reason of waitReasons) this.release(reason, ids);
  }

  waitingFor(reason: WaitReason): readonly PartitionId[] {
    return [...(this.#waiting.get(reason)?.values() ?? [])];
  }

  waits(reason: WaitReason): boolean {
    return this.#waiting.has(reason);
  }

  /** Whether a batch of the partition, fetched before its pause, must be left to come again. */
  holds(id: PartitionId, ...reasons: readonly WaitReason[]): boolean {
    return (
      this.#reasons.size > 0 || reasons.some((reason) => this.#waiting.get(reason)?.has(partitionKey(id)) === true)
    );
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
      const should = this.holds(id, ...waitReasons);
      if (should === (this.#applied.get(key) ?? false)) continue;
      this.#applied.set(key, should);
      (should ? pause : resume).push(id);
    }
    return { pause, resume };
  }
}
