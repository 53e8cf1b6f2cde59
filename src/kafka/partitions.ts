/**
 * The partitions this member owns, and what is known of each in its epoch. No I/O.
 *
 * A kept partition keeps its ledger over a rebalance, but is not committed until the broker's committed offset has been
 * looked at (`reconcile`): a generation that we missed may have given it to another member, who may have committed more.
 */
import { type Commit, planCommits } from '../offsets/commit-plan.ts';
import {
  type AssignmentChange,
  PartitionEpochs,
  type PartitionId,
  type PartitionKey,
  partitionKey,
} from '../offsets/epochs.ts';
import { OffsetLedger } from '../offsets/ledger.ts';

export type PartitionState = {
  readonly id: PartitionId;
  readonly epoch: number;
  /** Undefined until the first batch shows where reading begins. */
  ledger: OffsetLedger | undefined;
  /** What the broker holds as far as we know; undefined when any commit is worth it. */
  committed: bigint | undefined;
  /** `committed` as it was when this generation began: a fetch from before it reads another log, or one that was reset. */
  floor: bigint | undefined;
  /** Where the next batch of this generation must begin; undefined before its first one. */
  position: bigint | undefined;
  /** False from a rebalance until `reconcile`. */
  reconciled: boolean;
};

export class Partitions {
  readonly #epochs = new PartitionEpochs();
  readonly #states = new Map<PartitionKey, PartitionState>();

  get owned(): readonly PartitionId[] {
    return this.#epochs.owned;
  }

  get count(): number {
    return this.#states.size;
  }

  get(id: PartitionId): PartitionState | undefined {
    return this.#states.get(partitionKey(id));
  }

  /** A new generation begins: every kept partition is fetched again from its committed offset. */
  assign(after: Iterable<PartitionId>): AssignmentChange {
    const change = this.#epochs.assign(after);
    for (const id of change.lost) this.#states.delete(partitionKey(id));
    for (const id of change.gained) this.#begin(id);
    for (const id of change.kept) {
      const state = this.get(id)!;
      state.position = undefined;
      state.floor = state.committed;
      state.reconciled = state.ledger === undefined;
    }
    return change;
  }

  /** Ends the epoch of a partition whose log is no longer the one we read; whatever is in flight counts as lost. */
  restart(id: PartitionId): PartitionState {
    this.#epochs.restart(id);
    return this.#begin(id);
  }

  /** Takes the broker's committed offset of a kept partition. What others have committed is done for us as well. */
  reconcile(id: PartitionId, committed: bigint): void {
    const state = this.get(id);
    if (state === undefined) return;
    state.reconciled = true;
    if (committed < 0n || state.ledger === undefined) return;
    state.ledger.skipTo(committed);
    if (state.committed === undefined || committed > state.committed) state.committed = committed;
  }

  get allReconciled(): boolean {
    return Array.from(this.#states.values()).every((state) => state.reconciled);
  }

  plan(): Commit[] {
    const progress = Array.from(this.#states.values())
      .filter((state) => state.reconciled)
      .map(({ id, epoch, ledger, committed }) => ({
        ...id,
        epoch,
        commitPoint: ledger?.commitPoint,
        committed,
        metadata: '',
      }));
    return planCommits(progress, (id, epoch) => this.#epochs.isCurrent(id, epoch));
  }

  acknowledge({ topic, partition, epoch, offset }: Commit): void {
    const state = this.get({ topic, partition });
    if (state?.epoch === epoch && (state.committed === undefined || offset > state.committed)) state.committed = offset;
  }

  isCurrent(state: PartitionState): boolean {
    return this.get(state.id) === state;
  }

  #begin(id: PartitionId): PartitionState {
    const epoch = this.#epochs.epochOf(id)!;
    const state: PartitionState = {
      id,
      epoch,
      ledger: undefined,
      committed: undefined,
      floor: undefined,
      position: undefined,
      reconciled: true,
    };
    this.#states.set(partitionKey(id), state);
    return state;
  }

  /** The ledger of a partition, begun at the offset that its first batch was fetched from. */
  static ledgerFrom(state: PartitionState, fetchedOffset: bigint): OffsetLedger {
    if (state.ledger === undefined) {
      state.ledger = new OffsetLedger(fetchedOffset);
      state.committed = fetchedOffset;
    }
    return state.ledger;
  }
}
