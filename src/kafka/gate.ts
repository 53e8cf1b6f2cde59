/**
 * Which partitions are fetched now: joins the pauses of the pipeline with what single partitions wait for, and tells the
 * client what changes. A batch that was fetched before its pause is left; kafkajs fetches it again.
 */
import { type PartitionId, type PartitionKey, partitionKey } from '../offsets/epochs.ts';
import type { Log } from '../telemetry/log.ts';
import type { Flow } from './flow.ts';
import type { Intake } from './intake.ts';
import type { Partitions } from './partitions.ts';
import { Pauses, type WaitReason, waitReasons } from './pauses.ts';

export type GateOptions = {
  readonly partitions: Partitions;
  readonly flow: Flow;
  /** False while there is no client to tell. */
  readonly isJoined: () => boolean;
  readonly pause: (ids: readonly PartitionId[]) => void;
  readonly resume: (ids: readonly PartitionId[]) => void;
  readonly log: Log;
};

const ROOM = 'in-flight limit';
const OFFSETS = 'offsets not read yet';
const TAIL = 'commit metadata full';
const SCHEMA = 'schema not read yet';

export class FetchGate {
  readonly #options: GateOptions;
  readonly #pauses = new Pauses();
  /** A message waits that is too large for the room above the low mark. */
  #untilEmpty = false;
  /** Commit points of the partitions that wait for theirs to move. */
  readonly #stuckAt = new Map<PartitionKey, { readonly id: PartitionId; readonly commitPoint: bigint }>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get reasons(): readonly string[] {
    return [...this.#pauses.reasons, ...waitReasons.filter((reason) => this.#pauses.waits(reason))];
  }

  get waiting(): Readonly<Record<WaitReason, number>> {
    const count = (reason: WaitReason) => this.#pauses.waitingFor(reason).length;
    return { [ROOM]: count(ROOM), [OFFSETS]: count(OFFSETS), [TAIL]: count(TAIL), [SCHEMA]: count(SCHEMA) };
  }

  pause(reason: string): void {
    this.#pauses.add(reason);
    this.#apply();
  }

  resume(reason: string): void {
    this.#pauses.remove(reason);
    this.#apply();
  }

  /** Room is not asked for here: the intake knows how much a message needs. */
  isClosedFor(id: PartitionId): boolean {
    return this.#pauses.holds(id, TAIL);
  }

  /** After a batch was offered to the intake. */
  afterIntake(id: PartitionId, { declined }: Intake): void {
    const { partitions } = this.#options;
    if (declined === 'wait-offsets') this.#pauses.hold(OFFSETS, [id]);
    else if (declined === 'wait-schema') this.#pauses.hold(SCHEMA, [id]);
    else if (declined !== undefined) this.#pauses.hold(ROOM, declined === 'wait-share' ? [id] : partitions.owned);
    if (declined === 'wait-empty') this.#untilEmpty = true;
    const isFull = partitions.tailIsFull(id);
    if (isFull) this.#holdTail(id);
    if (declined === undefined && !isFull) return;
    // All of it may have ended while it was taken in.
    this.#releaseIfRoom();
    this.#apply();
  }

  /** A record has ended. */
  onSettled(): void {
    const freed = this.#releaseTails();
    if (this.#releaseIfRoom() || freed) this.#apply();
  }

  /** It may be known by now where some partitions stand. */
  onOffsetsKnown(): void {
    if (!this.#pauses.waits(OFFSETS)) return;
    const { partitions } = this.#options;
    const known = this.#pauses.waitingFor(OFFSETS).filter((id) => partitions.get(id)?.anchored !== false);
    if (known.length === 0) return;
    this.#pauses.release(OFFSETS, known);
    this.#apply();
  }

  /** A schema has come. Who waits for another one is told so by the intake once more. */
  onSchemaKnown(): void {
    this.#pauses.release(SCHEMA);
    this.#apply();
  }

  onAssignment(lost: readonly PartitionId[]): void {
    this.#pauses.forget(lost);
    this.#releaseTails();
    this.#releaseIfRoom();
    this.#apply();
  }

  /** A client that was just built knows of no pause. */
  forgetApplied(): void {
    this.#pauses.forgetApplied();
  }

  #holdTail(id: PartitionId): void {
    const commitPoint = this.#options.partitions.get(id)?.ledger?.commitPoint;
    if (commitPoint === undefined) return;
    this.#options.log.warn('partition waits: what is done beyond its commit point fills the commit metadata', {
      partition: id.partition,
      blockedBy: String(commitPoint),
    });
    this.#pauses.hold(TAIL, [id]);
    this.#stuckAt.set(partitionKey(id), { id, commitPoint });
  }

  /** Whether a partition goes on because what held its commit point is done. */
  #releaseTails(): boolean {
    let freed = false;
    for (const [key, { id, commitPoint }] of this.#stuckAt) {
      const { partitions } = this.#options;
      const now = partitions.get(id)?.ledger?.commitPoint;
      if (now === commitPoint) continue;
      if (now !== undefined && partitions.tailIsFull(id)) {
        this.#stuckAt.set(key, { id, commitPoint: now });
        continue;
      }
      this.#stuckAt.delete(key);
      this.#pauses.release(TAIL, [id]);
      freed = true;
    }
    return freed;
  }

  #releaseIfRoom(): boolean {
    const { flow } = this.#options;
    if (!this.#pauses.waits(ROOM) || !(this.#untilEmpty ? flow.isEmpty : flow.isLow)) return false;
    this.#pauses.release(ROOM);
    this.#untilEmpty = false;
    return true;
  }

  #apply(): void {
    const { partitions, isJoined, pause, resume } = this.#options;
    if (!isJoined()) return;
    const changes = this.#pauses.changes(partitions.owned);
    if (changes.pause.length > 0) pause(changes.pause);
    if (changes.resume.length > 0) resume(changes.resume);
  }
}
