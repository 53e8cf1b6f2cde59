/**
 * The Source port on Kafka: puts membership, intake, gate and commits together.
 *
 * Ledgers outlive both a rebalance and a rebuilt consumer, so that a broker that was away for a while costs no work twice.
 * Commits wait for a membership; outcomes do not.
 */
import { ServingError } from '../errors.ts';
import type { AssignmentChange, PartitionId } from '../offsets/epochs.ts';
import type { Log } from '../telemetry/log.ts';
import { KafkaAdmin } from './admin.ts';
import { abortedAfter } from './bounded.ts';
import { BrokerView } from './broker-view.ts';
import { Committer } from './committer.ts';
import { Flow } from './flow.ts';
import { FetchGate } from './gate.ts';
import { GroupConsumer } from './group-consumer.ts';
import type { GroupEvents } from './group-events.ts';
import { BatchIntake, type FetchedBatch, type Intake, NOTHING_TAKEN } from './intake.ts';
import { JointCommits } from './joint-commits.ts';
import { commitForGood } from './last-commit.ts';
import { MisuseWatch } from './misuse-watch.ts';
import { OffsetResets } from './offset-resets.ts';
import { Partitions } from './partitions.ts';
import { holdRejoin, RejoinHold } from './rejoin-hold.ts';
import type { Source, SourceHandler, SourceStatus } from './source.ts';
import { consumerOptions, defaults, type KafkaSourceOptions } from './source-options.ts';
import { JOINING, sourceTrouble } from './source-trouble.ts';

const COMMIT_TIMEOUT_MS = 10_000;
const CLOSE_COMMIT_TIMEOUT_MS = 5_000;
const [CLOSING, FAILED] = ['closing', 'failed'] as const;

export function createKafkaSource(options: KafkaSourceOptions): Source {
  return new KafkaSource(options);
}

class KafkaSource implements Source {
  readonly #options: KafkaSourceOptions;
  readonly #log: Log;
  readonly #partitions: Partitions;
  readonly #joint: JointCommits | undefined;
  readonly #flow: Flow;
  readonly #gate: FetchGate;
  readonly #consumer: GroupConsumer;
  readonly #committer: Committer;
  readonly #view: BrokerView;
  readonly #hold: RejoinHold;
  readonly #resets: OffsetResets;
  readonly #admin: KafkaAdmin;
  readonly #misuse: MisuseWatch;
  #handler: SourceHandler | undefined;
  #intake: BatchIntake | undefined;
  #joined = false;
  #reason: string | undefined = 'not started';
  #generation = 0;
  #failed = false;
  #closing: Promise<void> | undefined;

  constructor(options: KafkaSourceOptions) {
    const { client, topic, groupId } = options;
    this.#options = options;
    const log = (this.#log = options.log.child({ topic, groupId }));
    this.#flow = new Flow(options.flow);
    this.#admin = new KafkaAdmin(client);
    this.#consumer = new GroupConsumer(consumerOptions(options), this.#events());
    const partner = options.commitPartner;
    // What lies beyond a commit is not written yet, so it counts for nothing.
    const partitions = (this.#partitions = new Partitions({ keepsTail: partner === undefined }));
    this.#joint =
      partner &&
      new JointCommits({
        partner,
        partitions,
        isMember: () => this.#consumer.isMember(),
        held: () => this.#admin.groupOffsets(groupId, topic),
        gate: this,
        hasten: () => this.#committer.hasten(),
        log,
        onFenced: (id) => this.#onFenced(id),
        onFatal: (error) => this.#fatal(error),
      });
    this.#gate = new FetchGate({
      partitions,
      flow: this.#flow,
      isJoined: () => this.#joined,
      pause: (ids) => this.#consumer.pause(ids),
      resume: (ids) => this.#consumer.resume(ids),
      log,
    });
    this.#committer = new Committer({
      partitions,
      attempt: (commits) => (partner ?? this.#consumer).commit(commits),
      canCommit: () => this.#joined,
      log,
      intervalMs: options.commitIntervalMs,
      threshold: options.commitThreshold ?? defaults.commitThreshold,
      onAttempted: options.onCommit,
      onFatal: (error) => this.#fatal(error),
      onResult: (result) => {
        options.observer?.committed(result);
        if (result === 'ok') this.#gate.onOffsetsKnown();
        this.#joint?.lookForRoom();
      },
    });
    this.#view = new BrokerView({
      partitions,
      groupOffsets: () => this.#admin.groupOffsets(groupId, topic),
      log,
      onKnown: () => {
        this.#gate.onOffsetsKnown();
        // A partition without a commit gets one now: an autoscaler takes it for lag, and a successor might begin elsewhere.
        this.#committer.hasten();
      },
    });
    this.#hold = new RejoinHold({
      holdMs: options.rebalanceHoldMs ?? defaults.rebalanceHoldMs,
      isIdle: () => this.#flow.isEmpty,
      commit: (signal) => this.#committer.commit(signal),
      flush: () => this.#committer.flush(),
    });
    this.#resets = new OffsetResets({
      policy: options.offsetReset ?? defaults.offsetReset,
      logBounds: ({ partition }) => this.#admin.logBounds(topic, partition),
      log,
      onReset: (id, reset) => {
        options.observer?.offsetsReset(reset.kind, reset.gone);
        this.#intake?.reset(id, reset);
        this.#committer.hasten();
      },
      onStop: (error) => this.#fatal(error),
    });
    this.#misuse = new MisuseWatch({ topic, groupId, log, members: () => this.#consumer.members() });
  }

  async start(handler: SourceHandler): Promise<void> {
    if (this.#handler !== undefined) throw new ServingError('ARGUMENT_INVALID', 'a source starts once');
    this.#handler = handler;
    this.#reason = JOINING;
    this.#intake = new BatchIntake({
      partitions: this.#partitions,
      flow: this.#flow,
      decode: this.#options.decode,
      handler,
      log: this.#log,
      onSettled: () => this.#onSettled(),
      onReadable: () => this.#gate.onSchemaKnown(),
      onUnreadable: (error) => this.#fatal(error),
      onTaken: this.#options.observer?.decoded,
    });
    this.#committer.start();
    await this.#consumer.start();
  }

  pause(reason: string): void {
    this.#gate.pause(reason);
  }

  resume(reason: string): void {
    this.#gate.resume(reason);
  }

  status(): SourceStatus {
    const trouble = sourceTrouble({
      reason: this.#reason,
      isStarted: this.#handler !== undefined,
      silentMs: this.#consumer.silentMs,
      troubles: this.#options.client.troubles,
      starved: () => this.#misuse.starved(this.#partitions.count),
    });
    return {
      joined: this.#joined && trouble === undefined,
      reason: trouble,
      assigned: this.#partitions.owned,
      epoch: this.#generation,
      inFlightChunks: this.#flow.chunks,
      inFlightBytes: this.#flow.bytes,
      paused: this.#gate.reasons,
      waiting: this.#gate.waiting,
      silentMs: this.#consumer.unansweredMs,
    };
  }

  rebuild(reason: string): void {
    if (this.#closing !== undefined || this.#failed) return;
    this.#admin.renew();
    this.#consumer.rebuild(reason);
  }

  commit(signal?: AbortSignal): Promise<void> {
    return this.#committer.commit(abortedAfter(COMMIT_TIMEOUT_MS, signal));
  }

  close(signal?: AbortSignal): Promise<void> {
    this.#closing ??= this.#close(signal);
    return this.#closing;
  }

  /** The group is left even when the commit fails; the failure is told afterwards. */
  async #close(signal?: AbortSignal): Promise<void> {
    this.pause(CLOSING);
    this.#hold.cancel();
    this.#misuse.close();
    this.#committer.stop();
    const parts = { committer: this.#committer, view: this.#view, partitions: this.#partitions, log: this.#log };
    try {
      if (this.#joined) await commitForGood(parts, abortedAfter(CLOSE_COMMIT_TIMEOUT_MS, signal));
    } finally {
      this.#joined = false;
      this.#reason = 'closed';
      this.#generation += 1;
      await this.#consumer.close();
      await this.#admin.close();
    }
  }

  #events(): GroupEvents {
    return {
      onBatch: (batch) => this.#onBatch(batch),
      onEmptyStretch: (id, lastOffset) => this.#intake?.passEmpty(id, lastOffset),
      onJoined: (assigned) => this.#onJoined(assigned),
      onPosition: (id, offset) => this.#view.beginsAt(id, offset),
      onOutOfRange: (id, position) => this.#resets.resolve(id, position),
      beforeRejoin: (heartbeat) => holdRejoin(this.#hold, this.#flow, this.#log, heartbeat),
      onForeignTopics: (topics) => this.#misuse.foreignTopics(topics),
      onDown: (error, retryInMs) => this.#onDown(error, retryInMs),
      onFatal: (error) => this.#fatal(error),
    };
  }

  #onBatch(batch: FetchedBatch): Intake {
    if (this.#intake === undefined || this.#hold.isHolding || this.#gate.isClosedFor(batch)) return NOTHING_TAKEN;
    const intake = this.#intake.take(batch);
    this.#gate.afterIntake(batch, intake);
    return intake;
  }

  #onJoined(assigned: readonly PartitionId[]): void {
    this.#generation += 1;
    this.#joined = true;
    this.#reason = undefined;
    const { lost } = this.#takeAssignment(assigned);
    this.#gate.onAssignment(lost);
    this.#misuse.joined();
    void this.#lookAtBroker(this.#generation);
  }

  async #lookAtBroker(generation: number): Promise<void> {
    const { owned } = this.#partitions;
    const isCurrent = () => this.#generation === generation;
    await this.#joint?.claim(owned, isCurrent);
    await this.#view.read(owned, isCurrent);
  }

  /** Nobody knows what the other has done: all that is known here counts for nothing. */
  #onFenced({ partition }: PartitionId): void {
    if (this.#closing !== undefined) return;
    this.#takeAssignment([]);
    this.rebuild(`partition ${partition} was taken over by another process`);
  }

  #takeAssignment(assigned: readonly PartitionId[]): AssignmentChange {
    const change = this.#partitions.assign(assigned);
    const { gained, lost, kept } = change;
    const numbers = (ids: readonly PartitionId[]) => ids.map(({ partition }) => partition);
    this.#log.info('partitions assigned', { gained: numbers(gained), lost: numbers(lost), kept: kept.length });
    for (const id of lost) this.#flow.forget(id);
    this.#joint?.release(lost);
    if (lost.length > 0) this.#handler?.onRevoked(lost);
    if (gained.length > 0) this.#handler?.onAssigned(gained);
    return change;
  }

  #onDown(error: ServingError, retryInMs: number): void {
    this.#joined = false;
    this.#reason = `${error.code}: ${error.message}`;
    this.#generation += 1;
    this.#gate.forgetApplied();
    // A topic of that name that comes later is another log: nothing known of this one holds for it.
    if (error.code === 'KAFKA_TOPIC_UNKNOWN') this.#takeAssignment([]);
    this.#log.error('not consuming; trying again', { code: error.code, reason: error.message, retryInMs });
  }

  #fatal(error: ServingError): void {
    // A batch that failed would come again and again.
    this.pause(FAILED);
    this.#joined = false;
    this.#reason = `${error.code}: ${error.message}`;
    if (this.#failed || this.#closing !== undefined) return;
    this.#failed = true;
    this.#log.error('source cannot go on', { code: error.code, reason: error.message });
    this.#handler?.onFatal(error);
  }

  #onSettled(): void {
    this.#committer.noteFinished();
    this.#joint?.noteSettled();
    this.#gate.onSettled();
    this.#hold.noteSettled();
  }
}
