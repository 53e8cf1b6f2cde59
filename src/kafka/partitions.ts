/**
 * The partitions this member owns, and what is known of each in its epoch. No I/O.
 *
 * A gained partition is opened when two things are known: where the client begins to read, and what the broker holds as
 * committed. A kept one keeps its ledger over a rebalance, but is not committed until the broker's committed offset has been
 * looked at: a generation that we missed may have given it to another member, who may have committed more.
 */
import { encodeTail, MAX_METADATA_BYTES } from '../offsets/commit-metadata.ts';
import { type Commit, planCommits } from '../offsets/commit-plan.ts';
import {
  type AssignmentChange,
  PartitionEpochs,
  type PartitionId,
  type PartitionKey,
  partitionKey,
} from '../offsets/epochs.ts';
import { OffsetLedger } from '../offsets/ledger.ts';
import { type BrokerOffset, type Opening, openLedger } from '../offsets/opening.ts';
import { tailIsFull } from '../offsets/tail-pressure.ts';

export type PartitionState = {
  readonly id: PartitionId;
  readonly epoch: number;
  /** Undefined until the partition is opened. */
  ledger: OffsetLedger | undefined;
  /** What the broker holds as far as we know; undefined when any commit is worth it. */
  committed: bigint | undefined;
  committedMetadata: string;
  /** `committed` as it was when this generation began: a fetch from before it reads another log, or one that was reset. */
  floor: bigint | undefined;
  /** Where the next batch of this generation must begin; undefined before its first one. */
  position: bigint | undefined;
  /** False from a rebalance until the broker's view is known. */
  reconciled: boolean;
  /** Whether the broker holds an offset: before, nothing is read, or a successor might begin elsewhere. */
  anchored: boolean;
  /** Begun anew on another log, and not committed since: what the broker holds is of the old one. */
  rewound: boolean;
  /** What is known before the partition is opened; `passed`: the last offset of a stretch without data that was read already. */
  readonly before: { start?: bigint; held?: BrokerOffset; passed?: bigint };
  tail: { readonly changes: number; readonly maxBytes: number; readonly text: string } | undefined;
};

/** Below this a bitset would hold next to nothing. */
const LEAST_METADATA_BYTES = 64;

export class Partitions {
  readonly #epochs = new PartitionEpochs();
  readonly #states = new Map<PartitionKey, PartitionState>();
  readonly #keepsTail: boolean;
  #maxMetadataBytes = MAX_METADATA_BYTES;

  /** `keepsTail: false`: a commit says nothing of what is done beyond it. */
  constructor({ keepsTail = true }: { readonly keepsTail?: boolean } = {}) {
    this.#keepsTail = keepsTail;
  }

  get owned(): readonly PartitionId[] {
    return this.#epochs.owned;
  }

  get count(): number {
    return this.#states.size;
  }

  get(id: PartitionId): PartitionState | undefined {
    return this.#states.get(partitionKey(id));
  }

  /** The epoch in which the message at this position is in flight; undefined when it is not, or no longer ours. */
  epochInFlight(source: PartitionId & { readonly offset: bigint }): number | undefined {
    const state = this.get(source);
    return state?.ledger?.isOpen(source.offset) === true ? state.epoch : undefined;
  }

  /** A new generation begins: every kept partition is fetched again from its committed offset. */
  assign(after: Iterable<PartitionId>): AssignmentChange {
    const change = this.#epochs.assign(after);
    for (const id of change.lost) this.#states.delete(partitionKey(id));
    for (const id of change.gained) this.#begin(id);
    for (const id of change.kept) {
      const state = this.get(id)!;
      // Nothing was read of it yet: what is known of it is of the old generation.
      if (state.ledger === undefined) {
        this.#begin(id);
        continue;
      }
      state.position = undefined;
      state.floor = state.committed;
      state.reconciled = false;
    }
    return change;
  }

  /** The client begins to read here in this generation. Says how the partition was opened, if this opens it. */
  beginsAt(id: PartitionId, start: bigint): Opening | undefined {
    const state = this.get(id);
    if (state === undefined || state.ledger !== undefined) return undefined;
    state.before.start = start;
    return this.#open(state);
  }

  /** What the broker holds, read in this generation. */
  brokerHolds(id: PartitionId, held: BrokerOffset): Opening | undefined {
    const state = this.get(id);
    if (state === undefined) return undefined;
    if (state.ledger === undefined) {
      state.before.held = held;
      return this.#open(state);
    }
    if (state.reconciled) return undefined;
    state.reconciled = true;
    this.#adopt(state, held);
    return undefined;
  }

  /** Compares with what the broker holds: a commit that did not stick is worth making again. */
  verify(id: PartitionId, held: BrokerOffset): void {
    const state = this.get(id);
    if (state?.ledger !== undefined) this.#adopt(state, held);
  }

  /** Ends the epoch of a partition whose log is no longer the one we read; whatever is in flight counts as lost. */
  restart(id: PartitionId, start: bigint): PartitionState {
    this.#epochs.restart(id);
    const state = this.#begin(id);
    state.ledger = new OffsetLedger(start);
    state.position = start;
    state.anchored = true;
    state.rewound = true;
    return state;
  }

  get allReconciled(): boolean {
    return Array.from(this.#states.values()).every((state) => state.reconciled);
  }

  plan(): Commit[] {
    const progress = Array.from(this.#states.values())
      .filter((state) => state.reconciled)
      .map((state) => ({
        ...state.id,
        epoch: state.epoch,
        commitPoint: state.ledger?.commitPoint,
        committed: state.committed,
        metadata: this.#tailOf(state),
        committedMetadata: state.committedMetadata,
      }));
    return planCommits(progress, (id, epoch) => this.#epochs.isCurrent(id, epoch));
  }

  acknowledge({ topic, partition, epoch, offset, metadata }: Commit): void {
    const state = this.get({ topic, partition });
    if (state?.epoch !== epoch || (state.committed !== undefined && offset < state.committed)) return;
    state.committed = offset;
    state.committedMetadata = metadata;
    state.anchored = true;
    state.rewound = false;
  }

  isCurrent(state: PartitionState): boolean {
    return this.get(state.id) === state;
  }

  /** Whether it must not be read on until what holds its commit point is done. */
  tailIsFull(id: PartitionId): boolean {
    const ledger = this.get(id)?.ledger;
    return ledger !== undefined && tailIsFull(ledger, this.#maxMetadataBytes);
  }

  /** The broker takes less metadata than we sent. Returns what is sent at most from now on. */
  shrinkMetadata(): number {
    const half = Math.floor(this.#maxMetadataBytes / 2);
    this.#maxMetadataBytes = half < LEAST_METADATA_BYTES ? 0 : half;
    return this.#maxMetadataBytes;
  }

  #begin(id: PartitionId): PartitionState {
    const state: PartitionState = {
      id,
      epoch: this.#epochs.epochOf(id)!,
      ledger: undefined,
      committed: undefined,
      committedMetadata: '',
      floor: undefined,
      position: undefined,
      reconciled: true,
      anchored: false,
      rewound: false,
      before: {},
      tail: undefined,
    };
    this.#states.set(partitionKey(id), state);
    return state;
  }

  #open(state: PartitionState): Opening | undefined {
    const { start, held, passed } = state.before;
    if (start === undefined || held === undefined) return undefined;
    const opening = openLedger(start, held);
    state.ledger = opening.ledger;
    state.committed = opening.committed;
    state.committedMetadata = opening.committedMetadata;
    state.anchored = opening.committed !== undefined;
    state.position = start;
    if (passed !== undefined) {
      state.ledger.sawEnd(passed);
      state.position = passed + 1n;
    }
    return opening;
  }

  /** What others have committed is done for us as well. */
  #adopt(state: PartitionState, { offset, metadata }: BrokerOffset): void {
    if (state.rewound) return;
    state.committed = offset < 0n ? undefined : offset;
    state.committedMetadata = offset < 0n ? '' : metadata;
    if (offset < 0n) return;
    state.anchored = true;
    state.ledger?.skipTo(offset);
  }

  #tailOf(state: PartitionState): string {
    const { ledger, tail } = state;
    if (ledger === undefined || !this.#keepsTail) return '';
    const maxBytes = this.#maxMetadataBytes;
    if (tail?.changes === ledger.changes && tail.maxBytes === maxBytes) return tail.text;
    const text = encodeTail(ledger.commitPoint, ledger.doneBeyond(), maxBytes);
    state.tail = { changes: ledger.changes, maxBytes, text };
    return text;
  }
}
