/**
 * A fetched batch into records: continuity check → ledger → room → decode → handler, all synchronous.
 *
 * Takes a beginning of the batch and says how far it came; the rest is fetched again later. So a batch may only be taken
 * where the one before ended, or offsets would be skipped: that is checked here against the offset kafkajs fetched from.
 */
import type { KafkaMessage } from 'kafkajs';
import { asServingError, ServingError } from '../errors.ts';
import { type PartitionId, partitionKey } from '../offsets/epochs.ts';
import type { OffsetLedger } from '../offsets/ledger.ts';
import type { OffsetReset } from '../offsets/offset-reset.ts';
import type { Outcome, Settle } from '../records/outcome.ts';
import type { RecordInFlight } from '../records/travel.ts';
import type { Log } from '../telemetry/log.ts';
import { type DecodeOptions, decodeMessage } from './decode.ts';
import type { Admission, Flow } from './flow.ts';
import type { PartitionState, Partitions } from './partitions.ts';
import { rawMessage, weightBytes } from './raw-message.ts';
import type { SourceHandler } from './source.ts';

export type FetchedBatch = PartitionId & {
  /** Where the fetch began. */
  readonly fetchedOffset: bigint;
  /** Last offset the fetch covered, transaction markers and aborted records included. */
  readonly lastOffset: bigint;
  /** End of the partition. */
  readonly highWatermark: bigint;
  readonly messages: readonly KafkaMessage[];
};

export type Intake = {
  /** Last message that was taken, to be resolved; undefined when none was. */
  readonly takenTo: string | undefined;
  /**
   * Undefined when the whole batch was taken. `wait-offsets`: it is not known yet where the partition stands; `wait-schema`:
   * the next message cannot be read yet.
   */
  readonly declined: Exclude<Admission, 'admit'> | 'wait-offsets' | 'wait-schema' | undefined;
};

export type IntakeOptions = {
  readonly partitions: Partitions;
  readonly flow: Flow;
  readonly decode: DecodeOptions;
  readonly handler: SourceHandler;
  readonly log: Log;
  /** A record has ended: there may be room, and something to commit. */
  readonly onSettled: () => void;
  /** What a batch was declined for with `wait-schema` has come. */
  readonly onReadable: () => void;
  /** It never will. */
  readonly onUnreadable: (error: ServingError) => void;
  /** Told how long a batch took. */
  readonly onTaken?: ((seconds: number) => void) | undefined;
};

export const NOTHING_TAKEN: Intake = { takenTo: undefined, declined: undefined };

export class BatchIntake {
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  take(batch: FetchedBatch): Intake {
    const { partitions, flow, handler, onTaken } = this.#options;
    const startedMs = performance.now();
    const owned = partitions.get(batch);
    if (owned === undefined) return NOTHING_TAKEN;
    if (owned.ledger === undefined || !owned.anchored) return { takenTo: undefined, declined: 'wait-offsets' };
    const state = this.#continues(owned, owned.ledger, batch) ? owned : this.#restart(owned, batch);
    const ledger = state.ledger ?? owned.ledger;
    const records: RecordInFlight[] = [];
    let takenTo: string | undefined;
    let declined: Intake['declined'];
    for (const message of batch.messages) {
      const offset = BigInt(message.offset);
      if (!ledger.isKnown(offset)) {
        const raw = rawMessage(batch.topic, batch.partition, message);
        if (!this.#isReadable(raw.value)) {
          declined = 'wait-schema';
          break;
        }
        const bytes = weightBytes(raw);
        const admission = flow.admission(state.id, bytes, partitions.count);
        if (admission !== 'admit') {
          declined = admission;
          break;
        }
        ledger.track(offset);
        const load = { chunks: 0, bytes };
        const decoded = decodeMessage(raw, this.#options.decode, this.#settle(state, ledger, offset, load));
        load.chunks = decoded.length;
        flow.add(state.id, load.chunks, bytes);
        for (const record of decoded) records.push(record);
      }
      takenTo = message.offset;
    }
    if (declined === undefined) ledger.sawEnd(batch.lastOffset);
    if (declined === undefined) state.position = batch.lastOffset + 1n;
    else state.position = takenTo === undefined ? batch.fetchedOffset : BigInt(takenTo) + 1n;
    onTaken?.((performance.now() - startedMs) / 1_000);
    if (records.length > 0) handler.onRecords(records);
    return { takenTo, declined };
  }

  /** kafkajs has passed a stretch without data of its own: only markers and aborted records. */
  passEmpty(id: PartitionId, lastOffset: bigint): void {
    const state = this.#options.partitions.get(id);
    if (state === undefined) return;
    if (state.ledger === undefined) {
      state.before.passed = lastOffset;
      return;
    }
    state.ledger.sawEnd(lastOffset);
    state.position = lastOffset + 1n;
  }

  /**
   * The broker has answered "offset out of range". What was read of deleted offsets goes on: nobody could read it again.
   * What was read of another log is let go.
   */
  reset(id: PartitionId, { kind, resumeAt }: Exclude<OffsetReset, { kind: 'none' }>): void {
    const state = this.#options.partitions.get(id);
    if (state === undefined) return;
    if (kind === 'truncated') {
      this.#beginAnew(state, resumeAt);
    } else if (state.ledger === undefined) {
      state.before.start = resumeAt;
    } else {
      state.ledger.sawEnd(resumeAt - 1n);
      state.position = resumeAt;
    }
  }

  /** Not yet: then what it lacks is on its way. */
  #isReadable(value: Uint8Array | null): boolean {
    const { decode, onReadable, onUnreadable } = this.#options;
    const { values } = decode;
    if (values === undefined || value === null || values.canRead(value)) return true;
    values.prepare(value).then(onReadable, (thrown: unknown) => {
      const error = asServingError(thrown);
      // Of class `outage` only when the reader was closed: the partition then waits for its next owner.
      if (error.failureClass === 'fatal') onUnreadable(error);
    });
    return false;
  }

  #settle(
    state: PartitionState,
    ledger: OffsetLedger,
    offset: bigint,
    load: { chunks: number; bytes: number },
  ): Settle {
    let settled = false;
    return (outcome: Outcome) => {
      if (settled) return;
      settled = true;
      if (!this.#options.partitions.isCurrent(state)) return;
      this.#options.flow.remove(state.id, load.chunks, load.bytes);
      if (outcome.kind !== 'abandoned') ledger.markDone(offset);
      this.#options.onSettled();
    };
  }

  /** Whether the batch goes on with the log that the ledger knows. */
  #continues({ position, floor }: PartitionState, ledger: OffsetLedger, batch: FetchedBatch): boolean {
    if (position !== undefined) return batch.fetchedOffset === position;
    return batch.highWatermark >= ledger.commitPoint && (floor === undefined || batch.fetchedOffset >= floor);
  }

  /** The topic was made anew under its name: no error tells, only offsets that do not fit. */
  #restart(state: PartitionState, batch: FetchedBatch): PartitionState {
    this.#options.log.error('partition was reset: offsets that were to be read are gone', {
      topicPartition: partitionKey(state.id),
      expectedOffset: String(state.position ?? state.ledger?.position),
      readingFrom: String(batch.fetchedOffset),
      highWatermark: String(batch.highWatermark),
    });
    return this.#beginAnew(state, batch.fetchedOffset);
  }

  #beginAnew({ id }: PartitionState, start: bigint): PartitionState {
    const { partitions, flow, handler } = this.#options;
    flow.forget(id);
    const next = partitions.restart(id, start);
    handler.onRevoked([id]);
    handler.onAssigned([id]);
    return next;
  }
}

/** For the caller that must not let anything through: kafkajs dies for good of a TypeError in its batch handler. */
export function intakeFailure(error: unknown): ServingError {
  if (error instanceof ServingError) return error;
  const name = error instanceof Error ? error.name : typeof error;
  return new ServingError('INTERNAL', `a batch could not be taken in: ${name}`, { cause: error });
}
