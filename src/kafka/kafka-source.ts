/**
 * The Source port on Kafka: puts membership, intake, flow, pauses and commits together.
 *
 * Ledgers outlive both a rebalance and a rebuilt consumer, so that a broker that was away for a while costs no work twice.
 * Commits wait for a membership; outcomes do not.
 */
import { ServingError } from '../errors.ts';
import type { AssignmentChange, PartitionId } from '../offsets/epochs.ts';
import type { Log } from '../telemetry/log.ts';
import { KafkaAdmin } from './admin.ts';
import type { KafkaClient } from './client.ts';
import { Committer } from './committer.ts';
import type { DecodeOptions } from './decode.ts';
import { Flow, type FlowLimits } from './flow.ts';
import { GroupConsumer, type GroupEvents } from './group-consumer.ts';
import { BatchIntake, type FetchedBatch, type Intake } from './intake.ts';
import { MisuseWatch } from './misuse-watch.ts';
import { Partitions } from './partitions.ts';
import { Pauses } from './pauses.ts';
import { reconcileKept } from './reconcile.ts';
import type { Source, SourceHandler, SourceStatus } from './source.ts';

export type KafkaSourceOptions = {
  readonly client: KafkaClient;
  readonly topic: string;
  readonly groupId: string;
  readonly decode: DecodeOptions;
  readonly flow: FlowLimits;
  readonly commitIntervalMs: number;
  /** Finished messages that bring a commit forward. */
  readonly commitThreshold?: number;
  /** Where a group without committed offsets starts; true unless given. */
  readonly fromBeginning?: boolean;
  readonly sessionTimeoutMs?: number;
  readonly rebalanceTimeoutMs?: number;
  /** Also how long a paused fetch loop sleeps: `resume` does not wake it. */
  readonly fetchMaxWaitMs?: number;
  readonly fetchMinBytes?: number;
  /** Bytes of one fetch, and of one partition in it. A larger single message still comes. */
  readonly fetchMaxBytes?: number;
  readonly fetchMaxBytesPerPartition?: number;
  /** Told how long each acknowledged commit took. */
  readonly onCommitted?: (tookMs: number) => void;
  readonly log: Log;
};

const COMMIT_THRESHOLD = 10_000;
const COMMIT_TIMEOUT_MS = 10_000;
const CLOSE_COMMIT_TIMEOUT_MS = 5_000;
const JOINING = 'joining the group';
/** Longer than a fetch and a common rebalance. */
const SILENT_MS = 10_000;
const CLOSING = 'closing';
const FAILED = 'failed';
const NO_ROOM = 'in-flight limit';
const NOTHING_TAKEN: Intake = { takenTo: undefined, declined: undefined };

export function createKafkaSource(options: KafkaSourceOptions): Source {
  return new KafkaSource(options);
}

class KafkaSource implements Source {
  readonly #options: KafkaSourceOptions;
  readonly #log: Log;
  readonly #partitions = new Partitions();
  readonly #pauses = new Pauses();
  readonly #flow: Flow;
  readonly #consumer: GroupConsumer;
  readonly #committer: Committer;
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
    this.#log = options.log.child({ topic, groupId });
    this.#flow = new Flow(options.flow);
    this.#admin = new KafkaAdmin(client);
    this.#consumer = new GroupConsumer(
      {
        client,
        topic,
        groupId,
        fromBeginning: options.fromBeginning ?? true,
        sessionTimeoutMs: options.sessionTimeoutMs ?? 30_000,
        rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 60_000,
        fetchMaxWaitMs: options.fetchMaxWaitMs ?? 200,
        fetchMinBytes: options.fetchMinBytes ?? 1,
        fetchMaxBytes: options.fetchMaxBytes ?? 2_097_152,
        fetchMaxBytesPerPartition: options.fetchMaxBytesPerPartition ?? 262_144,
      },
      this.#events(),
    );
    this.#committer = new Committer({
      partitions: this.#partitions,
      attempt: (commits) => this.#consumer.commit(commits),
      canCommit: () => this.#joined,
      log: this.#log,
      intervalMs: options.commitIntervalMs,
      threshold: options.commitThreshold ?? COMMIT_THRESHOLD,
      onCommitted: options.onCommitted,
      onFatal: (error) => this.#fatal(error),
    });
    this.#misuse = new MisuseWatch({ topic, groupId, log: this.#log, members: () => this.#consumer.members() });
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
    });
    this.#committer.start();
    await this.#consumer.start();
  }

  pause(reason: string): void {
    this.#pauses.add(reason);
    this.#applyPauses();
  }

  resume(reason: string): void {
    this.#pauses.remove(reason);
    this.#applyPauses();
  }

  status(): SourceStatus {
    const trouble = this.#trouble();
    return {
      joined: this.#joined && trouble === undefined,
      reason: trouble,
      assigned: this.#partitions.owned,
      inFlightChunks: this.#flow.chunks,
      inFlightBytes: this.#flow.bytes,
      paused: this.#pauses.someWait ? [...this.#pauses.reasons, NO_ROOM] : this.#pauses.reasons,
      silentMs: this.#consumer.unansweredMs,
    };
  }

  rebuild(reason: string): void {
    if (this.#closing === undefined && !this.#failed) this.#consumer.rebuild(reason);
  }

  commit(signal?: AbortSignal): Promise<void> {
    return this.#committer.commit(bounded(COMMIT_TIMEOUT_MS, signal));
  }

  close(signal?: AbortSignal): Promise<void> {
    this.#closing ??= this.#close(signal);
    return this.#closing;
  }

  /** The group is left even when the commit fails; the failure is told afterwards. */
  async #close(signal?: AbortSignal): Promise<void> {
    this.pause(CLOSING);
    this.#misuse.close();
    this.#committer.stop();
    try {
      if (this.#joined) await this.#committer.commit(bounded(CLOSE_COMMIT_TIMEOUT_MS, signal));
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
      onRebalancing: () => {
        this.#log.info('group is rebalancing', { inFlightChunks: this.#flow.chunks });
        this.#committer.flush();
      },
      onForeignTopics: (topics) => this.#misuse.foreignTopics(topics),
      onDown: (error, retryInMs) => this.#onDown(error, retryInMs),
      onFatal: (error) => this.#fatal(error),
    };
  }

  #onBatch(batch: FetchedBatch): Intake {
    // Batches that were fetched before the pause come again after it.
    if (this.#intake === undefined || this.#pauses.reasons.length > 0) return NOTHING_TAKEN;
    const intake = this.#intake.take(batch);
    if (intake.declined !== undefined) {
      this.#pauses.hold(
        intake.declined === 'wait-share' ? [batch] : this.#partitions.owned,
        intake.declined === 'wait-empty',
      );
      // All of it may have ended while it was taken in.
      this.#releaseIfRoom();
      this.#applyPauses();
    }
    return intake;
  }

  #onJoined(assigned: readonly PartitionId[]): void {
    this.#generation += 1;
    this.#joined = true;
    this.#reason = undefined;
    const { kept } = this.#takeAssignment(assigned);
    this.#releaseIfRoom();
    this.#applyPauses();
    this.#misuse.joined();
    const generation = this.#generation;
    void reconcileKept({
      kept,
      partitions: this.#partitions,
      committed: () => this.#admin.committedOffsets(this.#options.groupId, this.#options.topic),
      isCurrent: () => this.#generation === generation,
      log: this.#log,
    });
  }

  #takeAssignment(assigned: readonly PartitionId[]): AssignmentChange {
    const change = this.#partitions.assign(assigned);
    const { gained, lost, kept } = change;
    const numbers = (ids: readonly PartitionId[]) => ids.map(({ partition }) => partition);
    this.#log.info('partitions assigned', { gained: numbers(gained), lost: numbers(lost), kept: kept.length });
    for (const id of lost) this.#flow.forget(id);
    if (lost.length > 0) this.#handler?.onRevoked(lost);
    if (gained.length > 0) this.#handler?.onAssigned(gained);
    return change;
  }

  #onDown(error: ServingError, retryInMs: number): void {
    this.#joined = false;
    this.#reason = `${error.code}: ${error.message}`;
    this.#generation += 1;
    this.#pauses.forgetApplied();
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
    if (this.#releaseIfRoom()) this.#applyPauses();
  }

  #trouble(): string | undefined {
    if (this.#reason !== undefined && this.#reason !== JOINING) return this.#reason;
    const { silentMs } = this.#consumer;
    if (this.#handler !== undefined && silentMs > SILENT_MS) {
      const why = this.#options.client.troubles.latest(silentMs);
      const silence = `KAFKA_UNAVAILABLE: no sign of life from the brokers for ${Math.floor(silentMs / 1_000)} s`;
      return why === undefined ? silence : `${silence} (${why})`;
    }
    return this.#reason ?? this.#misuse.starved(this.#partitions.count);
  }

  #releaseIfRoom(): boolean {
    const { someWait, waitsUntilEmpty } = this.#pauses;
    if (!someWait || !(waitsUntilEmpty ? this.#flow.isEmpty : this.#flow.isLow)) return false;
    this.#pauses.release();
    return true;
  }

  #applyPauses(): void {
    if (!this.#joined) return;
    const { pause, resume } = this.#pauses.changes(this.#partitions.owned);
    if (pause.length > 0) this.#consumer.pause(pause);
    if (resume.length > 0) this.#consumer.resume(resume);
  }
}

function bounded(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}
