/**
 * What is asked of the broker beside reading and writing: topics, committed offsets, lag.
 *
 * Lag is counted from the broker's committed offsets, not from what the client has fetched, which stands still while
 * partitions are paused. An end offset leaves out an open transaction. Connects at the first call.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { ServingError } from '../errors.ts';
import type { LogBounds } from '../offsets/offset-reset.ts';
import type { BrokerOffset } from '../offsets/opening.ts';
import { settledWithin } from './bounded.ts';
import type { KafkaClient } from './client.ts';
import { brokerErrorType, kafkaError } from './kafka-errors.ts';

export type PartitionLag = {
  readonly partition: number;
  /** First offset that is still there, and the next one that will be written. */
  readonly low: bigint;
  readonly end: bigint;
  /** Undefined while the group has committed nothing usable. */
  readonly committed: bigint | undefined;
  /** Offsets from the commit (or from the beginning) to the end, markers and gaps included; never negative. */
  readonly lag: bigint;
};

export type TopicOptions = {
  readonly partitions: number;
  /** Undefined takes the broker's default. */
  readonly replicationFactor?: number;
  readonly configEntries?: Readonly<Record<string, string>>;
};

const CALL_TIMEOUT_MS = 20_000;
const CLOSE_TIMEOUT_MS = 2_000;
const LEADERS_PAUSE_MS = 50;

export class KafkaAdmin {
  readonly #client: KafkaClient;
  #admin: Admin;
  #connected: Promise<void> | undefined;

  constructor(client: KafkaClient) {
    this.#client = client;
    this.#admin = client.kafka.admin();
  }

  /** True when it was made now, false when it was there. Resolves when its partitions can be written. */
  async ensureTopic(topic: string, options: TopicOptions): Promise<boolean> {
    // By a connection of its own: kafkajs looks up every topic that a connection has ever been asked about before it makes
    // one, and fails when one of them, such as an earlier topic of this name, has been deleted.
    const own = new KafkaAdmin(this.#client);
    try {
      return await own.#make(topic, options);
    } finally {
      await own.close();
    }
  }

  #make(topic: string, options: TopicOptions): Promise<boolean> {
    return this.ask(`create topic ${topic}`, async (admin) => {
      const configEntries = Object.entries(options.configEntries ?? {}).map(([name, value]) => ({ name, value }));
      const { partitions: numPartitions, replicationFactor = -1 } = options;
      const made = await admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions, replicationFactor, configEntries }],
      });
      await untilLeaders(admin, topic);
      return made;
    });
  }

  topicExists(topic: string): Promise<boolean> {
    return this.ask('list topics', async (admin) => (await admin.listTopics()).includes(topic));
  }

  /** What the broker holds for each partition, with the metadata; negative where nothing is committed. */
  groupOffsets(groupId: string, topic: string): Promise<ReadonlyMap<number, BrokerOffset>> {
    return this.ask(`read offsets of group ${groupId}`, async (admin) => {
      const [answer] = await admin.fetchOffsets({ groupId, topics: [topic] });
      return new Map(
        (answer?.partitions ?? []).map(({ partition, offset, metadata }) => [
          partition,
          { offset: BigInt(offset), metadata: metadata ?? '' },
        ]),
      );
    });
  }

  /** Committed offsets by partition; negative where there is none. */
  async committedOffsets(groupId: string, topic: string): Promise<ReadonlyMap<number, bigint>> {
    return new Map(
      Array.from(await this.groupOffsets(groupId, topic), ([partition, { offset }]) => [partition, offset]),
    );
  }

  /** Where the log of a partition begins and ends; undefined for a partition that is not there. */
  async logBounds(topic: string, partition: number): Promise<LogBounds | undefined> {
    const found = (await this.#ends(topic)).find((one) => one.partition === partition);
    return found && { low: BigInt(found.low), end: BigInt(found.high) };
  }

  /** Where the log of each partition begins and ends, by partition; KAFKA_TOPIC_UNKNOWN for a topic that is not there. */
  async topicBounds(topic: string): Promise<ReadonlyMap<number, LogBounds>> {
    // Asked first: asked for its ends, kafkajs looks for a topic that is not there for as long as it looks for a leader.
    if (!(await this.topicExists(topic))) {
      throw new ServingError('KAFKA_TOPIC_UNKNOWN', `topic ${topic} does not exist, or may not be seen by this user`);
    }
    const ends = (await this.#ends(topic)).sort((a, b) => a.partition - b.partition);
    return new Map(ends.map(({ partition, low, high }) => [partition, { low: BigInt(low), end: BigInt(high) }]));
  }

  /** Deletes, in each partition given, all records before the offset. */
  deleteRecords(topic: string, before: ReadonlyMap<number, bigint>): Promise<void> {
    const partitions = Array.from(before, ([partition, offset]) => ({ partition, offset: String(offset) }));
    return this.ask(`delete records of topic ${topic}`, async (admin) => {
      // kafkajs deletes only in topics that this connection has been asked about before.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions });
    });
  }

  async lag(groupId: string, topic: string): Promise<readonly PartitionLag[]> {
    const committed = await this.committedOffsets(groupId, topic);
    return (await this.#ends(topic))
      .map(({ partition, low, high }) => partitionLag(partition, BigInt(low), BigInt(high), committed.get(partition)))
      .sort((a, b) => a.partition - b.partition);
  }

  /** The next call makes connections of its own. kafkajs goes on with one that stands, however dead it is. */
  renew(): void {
    const before = this.#admin;
    this.#admin = this.#client.kafka.admin();
    void this.#disconnect(before);
  }

  close(): Promise<void> {
    return this.#disconnect(this.#admin);
  }

  async #disconnect(admin: Admin): Promise<void> {
    const connected = this.#connected;
    this.#connected = undefined;
    if (connected === undefined) return;
    await settledWithin(
      connected.then(() => admin.disconnect()),
      CLOSE_TIMEOUT_MS,
      'disconnect',
    ).catch(() => undefined);
  }

  #ends(topic: string) {
    return this.ask(`read offsets of topic ${topic}`, (admin) => admin.fetchTopicOffsets(topic));
  }

  /** `doing` says what failed, as in "cannot <doing>". Bounded; what kafkajs throws comes as a ServingError. */
  async ask<T>(doing: string, call: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = this.#admin;
    try {
      this.#connected ??= admin.connect();
      await settledWithin(this.#connected, CALL_TIMEOUT_MS, doing);
      return await settledWithin(call(admin), CALL_TIMEOUT_MS, doing);
    } catch (error) {
      const known = kafkaError(error, doing);
      // Never made, or lost, or wedged: the next call tries another one.
      if (known.code === 'KAFKA_UNAVAILABLE' && this.#admin === admin) this.renew();
      throw known;
    }
  }
}

/** What a broker answers about a topic that it has only begun to hear of. */
const ON_ITS_WAY: readonly (string | undefined)[] = [
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
];

/**
 * The controller has made the topic before the broker has heard of it, and the broker then says that it knows no such topic.
 * kafkajs's own `waitForLeaders` takes that for an error.
 *
 * A broker names itself the leader before it is ready to lead; only a question for offsets is answered by leaders alone.
 * Without it the first write finds some partitions ready and some not, kafkajs repeats it for all, and records come twice.
 */
async function untilLeaders(admin: Admin, topic: string): Promise<void> {
  for (const until = performance.now() + CALL_TIMEOUT_MS; ; await sleep(LEADERS_PAUSE_MS)) {
    try {
      await admin.fetchTopicMetadata({ topics: [topic] });
      return void (await admin.fetchTopicOffsets(topic));
    } catch (error) {
      if (!ON_ITS_WAY.includes(brokerErrorType(error)) || performance.now() > until) throw error;
    }
  }
}

export function partitionLag(partition: number, low: bigint, end: bigint, stored: bigint | undefined): PartitionLag {
  const committed = stored === undefined || stored < 0n ? undefined : stored;
  const from = committed === undefined || committed < low ? low : committed;
  return { partition, low, end, committed, lag: end > from ? end - from : 0n };
}
