/**
 * Partition epochs: a number for each stretch of time in which this process owns a partition without a break.
 *
 * An outcome or commit that carries an older number changes nothing. kafkajs has no revoke callback and the broker does
 * not fence commits of partitions that moved on, so the diff of two assignments is all there is to go by.
 */
export type PartitionId = { readonly topic: string; readonly partition: number };

/** Key of a partition in maps. A topic name cannot hold a colon. */
export type PartitionKey = `${string}:${number}`;

export function partitionKey({ topic, partition }: PartitionId): PartitionKey {
  return `${topic}:${partition}`;
}

export type AssignmentChange = {
  readonly gained: readonly PartitionId[];
  readonly lost: readonly PartitionId[];
  readonly kept: readonly PartitionId[];
};

export function diffAssignment(before: Iterable<PartitionId>, after: Iterable<PartitionId>): AssignmentChange {
  const old = new Map(Array.from(before, (id) => [partitionKey(id), id]));
  const gained: PartitionId[] = [];
  const kept: PartitionId[] = [];
  for (const id of after) (old.delete(partitionKey(id)) ? kept : gained).push(id);
  return { gained, lost: [...old.values()], kept };
}

export class PartitionEpochs {
  readonly #owned = new Map<PartitionKey, { readonly id: PartitionId; readonly epoch: number }>();
  #last = 0;

  get owned(): readonly PartitionId[] {
    return Array.from(this.#owned.values(), ({ id }) => id);
  }

  /** Takes the new assignment as a whole. Kept partitions keep their epoch, gained ones begin one. */
  assign(after: Iterable<PartitionId>): AssignmentChange {
    const change = diffAssignment(this.owned, after);
    for (const id of change.lost) this.#owned.delete(partitionKey(id));
    for (const id of change.gained) this.#begin(id);
    return change;
  }

  /** Ends the epoch of an owned partition and begins the next: what is in flight counts as lost. */
  restart(id: PartitionId): number | undefined {
    return this.#owned.has(partitionKey(id)) ? this.#begin(id) : undefined;
  }

  epochOf(id: PartitionId): number | undefined {
    return this.#owned.get(partitionKey(id))?.epoch;
  }

  isCurrent(id: PartitionId, epoch: number): boolean {
    return this.epochOf(id) === epoch;
  }

  #begin(id: PartitionId): number {
    this.#last += 1;
    this.#owned.set(partitionKey(id), { id, epoch: this.#last });
    return this.#last;
  }
}
