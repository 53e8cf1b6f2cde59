/**
 * One membership of a consumer group on kafkajs, rebuilt when it dies: events in, calls out, no decisions about records.
 *
 * kafkajs never restarts itself here (`restartOnFailure`), so there is one place that waits and tries again.
 */
import type { Consumer, ConsumerGroupJoinEvent, ConsumerRunConfig, EachBatchPayload } from 'kafkajs';
import { ServingError } from '../errors.ts';
import type { Commit } from '../offsets/commit-plan.ts';
import type { PartitionId } from '../offsets/epochs.ts';
import { settledWithin } from './bounded.ts';
import { CommitChannel, unavailable } from './commit-channel.ts';
import type { GroupMember } from './group-check.ts';
import type { GroupConsumerOptions, GroupEvents } from './group-events.ts';
import { type GroupHooks, type HookedGroup, runHooked } from './group-hooks.ts';
import { intakeFailure } from './intake.ts';
import { coordinatedError, kafkaError, mayHeal } from './kafka-errors.ts';

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;
/** A membership that held for so long begins anew with short delays. */
const STABLE_MS = 30_000;
const MAX_SURPRISES = 5;
const START_WAIT_MS = 5_000;
const STOP_TIMEOUT_MS = 5_000;
const WATCH_INTERVAL_MS = 5_000;
const RECENT_TROUBLE_MS = 5_000;

export class GroupConsumer {
  readonly #options: GroupConsumerOptions;
  readonly #events: GroupEvents;
  #consumer: Consumer | undefined;
  #commits: CommitChannel | undefined;
  #group: HookedGroup | undefined;
  #closed = false;
  #failures = 0;
  #surprises = 0;
  #joinedAt = 0;
  #lastSign = 0;
  #lastAnswer = performance.now();
  #retryTimer: NodeJS.Timeout | undefined;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(options: GroupConsumerOptions, events: GroupEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Resolves when the first attempt to join has ended or takes its time; how it goes is told by the events. */
  async start(): Promise<void> {
    this.#watchdog = setInterval(() => this.#watch(), WATCH_INTERVAL_MS).unref();
    await settledWithin(this.#build(), START_WAIT_MS, 'join the group').catch(() => undefined);
  }

  /** Milliseconds since kafkajs last fetched, sent a heartbeat or joined. */
  get silentMs(): number {
    return performance.now() - this.#lastSign;
  }

  /** Milliseconds since a broker has last answered: a fetch that begins on a dead connection is a sign, not an answer. */
  get unansweredMs(): number {
    return performance.now() - this.#lastAnswer;
  }

  /** Gives the membership up and makes another, over fresh connections. Without one, that is under way already. */
  rebuild(reason: string): void {
    if (this.#consumer === undefined) return;
    this.#down(this.#consumer, new ServingError('KAFKA_UNAVAILABLE', reason));
  }

  pause(ids: readonly PartitionId[]): void {
    this.#whileRunning((consumer) => consumer.pause(this.#partitions(ids)));
  }

  resume(ids: readonly PartitionId[]): void {
    this.#whileRunning((consumer) => consumer.resume(this.#partitions(ids)));
  }

  /** One attempt, signed with the generation of this very turn. Rejects unless the broker acknowledged every offset. */
  async commit(commits: readonly Commit[]): Promise<void> {
    if (this.#commits === undefined) throw unavailable('not a member of the group');
    await this.#commits.send(commits);
  }

  /** In the generation of the last assignment; false when that cannot be known. */
  async isMember(): Promise<boolean> {
    const group = this.#commits === undefined ? undefined : this.#group;
    return (
      group !== undefined && settledWithin(group.isMember(), STOP_TIMEOUT_MS, 'send a heartbeat').catch(() => false)
    );
  }

  async members(): Promise<readonly GroupMember[]> {
    return (await this.#consumer?.describeGroup())?.members ?? [];
  }

  /** Leaves the group. kafkajs may never answer while a rebalance is under way, so it is only waited for so long. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retryTimer);
    clearInterval(this.#watchdog);
    const consumer = this.#consumer;
    this.#consumer = undefined;
    this.#commits = undefined;
    if (consumer !== undefined) await this.#dismiss(consumer);
  }

  async #build(): Promise<void> {
    const { client, topic, groupId, fromBeginning } = this.#options;
    const consumer = client.patientKafka.consumer({
      groupId,
      sessionTimeout: this.#options.sessionTimeoutMs,
      rebalanceTimeout: this.#options.rebalanceTimeoutMs,
      heartbeatInterval: Math.floor(this.#options.sessionTimeoutMs / 10),
      maxWaitTimeInMs: this.#options.fetchMaxWaitMs,
      minBytes: this.#options.fetchMinBytes,
      maxBytes: this.#options.fetchMaxBytes,
      maxBytesPerPartition: this.#options.fetchMaxBytesPerPartition,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 5, restartOnFailure: async () => false },
    });
    this.#consumer = consumer;
    this.#lastSign = this.#lastAnswer = performance.now();
    this.#listen(consumer);
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning });
      if (this.#consumer !== consumer) return await this.#dismiss(consumer);
      const config: ConsumerRunConfig = {
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async (payload) => this.#onBatch(consumer, payload),
      };
      const { group, ended } = runHooked(() => consumer.run(config), this.#hooks(consumer));
      this.#group = group;
      this.#commits = new CommitChannel(group, topic);
      await ended;
    } catch (error) {
      this.#down(consumer, error);
    }
  }

  /** A consumer that was dismissed decides nothing any more. */
  #hooks(consumer: Consumer): GroupHooks {
    const events = this.#events;
    const isCurrent = () => this.#consumer === consumer;
    return {
      beforeRejoin: async (heartbeat) => {
        if (!isCurrent()) return;
        await events.beforeRejoin(async () => {
          const alive = isCurrent() && (await heartbeat());
          if (alive) this.#lastSign = this.#lastAnswer = performance.now();
          return alive;
        });
      },
      onPosition: (id, offset) => {
        if (isCurrent()) events.onPosition(id, offset);
      },
      onOutOfRange: async (id, position) => (isCurrent() ? events.onOutOfRange(id, position) : undefined),
    };
  }

  #listen(consumer: Consumer): void {
    const { events } = consumer;
    const whenCurrent = <E>(handle: (event: E) => void) => {
      return (event: E): void => {
        if (this.#consumer === consumer) handle(event);
      };
    };
    const sign = whenCurrent(() => {
      this.#lastSign = performance.now();
    });
    consumer.on(events.FETCH_START, sign);
    const answer = whenCurrent(() => {
      this.#lastSign = this.#lastAnswer = performance.now();
    });
    consumer.on(events.HEARTBEAT, answer);
    consumer.on(
      events.GROUP_JOIN,
      whenCurrent((event) => this.#onJoin(event)),
    );
    consumer.on(
      events.CRASH,
      whenCurrent((event) => this.#down(consumer, event.payload.error)),
    );
    consumer.on(
      events.RECEIVED_UNSUBSCRIBED_TOPICS,
      whenCurrent((event) => this.#events.onForeignTopics(event.payload.topicsNotSubscribed)),
    );
    consumer.on(
      events.COMMIT_OFFSETS,
      whenCurrent((event) => this.#commits?.onCommitted(event)),
    );
    // The only trace of a stretch of markers and aborted records: such a batch never reaches eachBatch.
    consumer.on(
      events.END_BATCH_PROCESS,
      whenCurrent(({ payload }) => {
        if (payload.batchSize === 0) this.#events.onEmptyStretch(payload, BigInt(payload.lastOffset));
      }),
    );
  }

  #onJoin({ payload }: ConsumerGroupJoinEvent): void {
    this.#joinedAt = performance.now();
    this.#lastSign = this.#lastAnswer = this.#joinedAt;
    const assignment = Object.entries(payload.memberAssignment);
    this.#events.onJoined(
      assignment.flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition }))),
    );
  }

  #partitions(ids: readonly PartitionId[]): { topic: string; partitions: number[] }[] {
    return ids.length === 0 ? [] : [{ topic: this.#options.topic, partitions: ids.map(({ partition }) => partition) }];
  }

  /** kafkajs refuses the call while it is not running; the next join puts the pauses right. */
  #whileRunning(call: (consumer: Consumer) => void): void {
    try {
      if (this.#consumer !== undefined) call(this.#consumer);
    } catch (error) {
      this.#options.client.log.debug('pause or resume without a running consumer', {
        code: kafkaError(error, 'pause').code,
      });
    }
  }

  /** Returns at once: kafkajs sends heartbeats only between batches. Nothing may be thrown into kafkajs from here. */
  #onBatch(consumer: Consumer, { batch, resolveOffset }: EachBatchPayload): void {
    if (this.#consumer !== consumer) return;
    this.#lastAnswer = performance.now();
    const { topic, partition, messages, highWatermark } = batch;
    // Not in kafkajs's types: where the fetch began, which a reset of the position shows in.
    const { fetchedOffset } = batch as typeof batch & { readonly fetchedOffset: string };
    try {
      const { takenTo } = this.#events.onBatch({
        topic,
        partition,
        messages,
        fetchedOffset: BigInt(fetchedOffset),
        lastOffset: BigInt(batch.lastOffset()),
        highWatermark: BigInt(highWatermark),
      });
      if (takenTo !== undefined) resolveOffset(takenTo);
    } catch (error) {
      this.#events.onFatal(intakeFailure(error));
    }
  }

  #down(consumer: Consumer, cause: unknown): void {
    if (this.#closed || this.#consumer !== consumer) return;
    this.#consumer = undefined;
    this.#commits = undefined;
    const { client, groupId, topic } = this.#options;
    const error = coordinatedError(
      cause,
      `consume ${topic} as group ${groupId}`,
      client.troubles.latest(RECENT_TROUBLE_MS),
    );
    void this.#dismiss(consumer);
    if (performance.now() - this.#joinedAt > STABLE_MS && this.#joinedAt > 0) this.#failures = this.#surprises = 0;
    if (error.code === 'INTERNAL') this.#surprises += 1;
    const verdict = this.#verdict(error);
    if (verdict !== undefined) {
      this.#events.onFatal(verdict);
      return;
    }
    const retryInMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, MAX_RETRY_MS);
    this.#failures += 1;
    this.#joinedAt = 0;
    this.#events.onDown(error, retryInMs);
    this.#retryTimer = setTimeout(() => void this.#build(), retryInMs);
  }

  /** The error to stop with; undefined when trying again may help. */
  #verdict(error: ServingError): ServingError | undefined {
    if (this.#surprises >= MAX_SURPRISES) {
      const says = `consumer of ${this.#options.topic} died ${this.#surprises} times in a row`;
      return new ServingError('KAFKA_CONSUMER_DEAD', says, { cause: error });
    }
    return mayHeal(error) ? undefined : error;
  }

  /** kafkajs has been known to stop fetching without an error (tulios/kafkajs#659). */
  #watch(): void {
    const consumer = this.#consumer;
    const limitMs = this.#options.sessionTimeoutMs + this.#options.rebalanceTimeoutMs;
    if (consumer === undefined || this.silentMs < limitMs) return;
    this.#down(consumer, new ServingError('KAFKA_UNAVAILABLE', `consumer showed no sign of life for ${limitMs} ms`));
  }

  async #dismiss(consumer: Consumer): Promise<void> {
    await settledWithin(consumer.disconnect(), STOP_TIMEOUT_MS, 'leave the group').catch((error: unknown) => {
      const { code } = kafkaError(error, 'leave the group');
      this.#options.client.log.warn('group not left in order; the broker waits for the session timeout', {
        groupId: this.#options.groupId,
        code,
      });
    });
  }
}
