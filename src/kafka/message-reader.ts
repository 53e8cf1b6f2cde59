/**
 * Reads single messages of one topic once more, by their offset: for retries of which only the origin was kept.
 *
 * kafkajs cannot fetch by offset, so a throw-away consumer in a group of its own seeks and reads what is wanted by then, and
 * the group is deleted. Joining takes seconds, so what is asked for at about the same time is read together.
 */
import type { Consumer, EachBatchPayload } from 'kafkajs';
import { ServingError } from '../errors.ts';
import type { RawMessage, SourcePosition } from '../records/chunk.ts';
import { settledWithin } from './bounded.ts';
import { kafkaError } from './kafka-errors.ts';
import { rawMessage } from './raw-message.ts';
import { inReaderGroup, quietly, type ReaderGroupOptions } from './reader-group.ts';

export type MessageReaderOptions = ReaderGroupOptions & {
  readonly topic: string;
  /** How long the first wanted message waits for company. */
  readonly gatherMs?: number;
  /** Of one reading, however many messages. */
  readonly timeoutMs?: number;
};

type Wanted = {
  readonly position: SourcePosition;
  readonly resolve: (message: RawMessage | undefined) => void;
  readonly reject: (error: unknown) => void;
};

const GATHER_MS = 200;
const TIMEOUT_MS = 30_000;
const SESSION_TIMEOUT_MS = 10_000;

export class MessageReader {
  readonly #options: MessageReaderOptions;
  #wanted: Wanted[] = [];
  #reading: Promise<void> | undefined;
  readonly #closing = new AbortController();

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /** Undefined when Kafka no longer has it (retention, compaction, a topic made anew); rejects with class `outage`. */
  read(position: SourcePosition, signal?: AbortSignal): Promise<RawMessage | undefined> {
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(kafkaError(signal?.reason, `read ${describe(position)} again`));
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) return onAbort();
      const settled = () => signal?.removeEventListener('abort', onAbort);
      this.#wanted.push({
        position,
        resolve: (message) => {
          settled();
          resolve(message);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      this.#reading ??= this.#readAll();
    });
  }

  /** Gives up what is being read, and waits until the consumer and its group are gone. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#wanted.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, this.#options.gatherMs ?? GATHER_MS));
      const wanted = this.#wanted;
      this.#wanted = [];
      if (this.#closing.signal.aborted) for (const { reject } of wanted) reject(closed());
      else await this.#readTogether(wanted);
    }
    this.#reading = undefined;
  }

  async #readTogether(wanted: readonly Wanted[]): Promise<void> {
    const { topic } = this.#options;
    const doing = `read ${wanted.length} messages of ${topic} again`;
    try {
      const present = await this.#present(wanted);
      if (present.length > 0) await this.#consume(present, doing);
    } catch (thrown) {
      const error = kafkaError(thrown, doing);
      for (const { reject } of wanted) reject(error);
    }
  }

  /** Those between the ends of their partition; the others are told at once that they are gone. */
  async #present(wanted: readonly Wanted[]): Promise<readonly Wanted[]> {
    const { client, topic, timeoutMs = TIMEOUT_MS } = this.#options;
    const admin = client.kafka.admin();
    try {
      const asked = admin.connect().then(() => admin.fetchTopicOffsets(topic));
      const ends = new Map((await settledWithin(asked, timeoutMs, 'read the ends')).map((one) => [one.partition, one]));
      return wanted.filter(({ position, resolve }) => {
        const end = ends.get(position.partition);
        const isThere = end !== undefined && position.offset >= BigInt(end.low) && position.offset < BigInt(end.high);
        if (!isThere) resolve(undefined);
        return isThere;
      });
    } finally {
      await quietly(admin.disconnect());
    }
  }

  async #consume(wanted: readonly Wanted[], doing: string): Promise<void> {
    const { topic, timeoutMs = TIMEOUT_MS } = this.#options;
    await inReaderGroup(this.#options, SESSION_TIMEOUT_MS, async (consumer) => {
      const reading = new Reading(consumer, topic, wanted);
      await settledWithin(reading.run(this.#closing.signal), timeoutMs, doing);
    });
  }
}

/** One consumer on its way from wanted offset to wanted offset, in each partition by itself. */
class Reading {
  readonly #consumer: Consumer;
  readonly #topic: string;
  /** By partition, lowest offset first. */
  readonly #left = new Map<number, Wanted[]>();

  constructor(consumer: Consumer, topic: string, wanted: readonly Wanted[]) {
    this.#consumer = consumer;
    this.#topic = topic;
    for (const one of wanted) {
      const { partition } = one.position;
      this.#left.set(partition, [...(this.#left.get(partition) ?? []), one]);
    }
    for (const list of this.#left.values()) list.sort((a, b) => Number(a.position.offset - b.position.offset));
  }

  /** Resolves when every wanted message was found or is known to be gone. */
  async run(closing: AbortSignal): Promise<void> {
    const consumer = this.#consumer;
    let finish = (): void => {};
    let fail = (_error: unknown): void => {};
    const finished = new Promise<void>((resolve, reject) => {
      finish = resolve;
      fail = reject;
    });
    finished.catch(() => undefined);
    closing.addEventListener('abort', () => fail(closed()), { once: true });
    if (closing.aborted) fail(closed());
    consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error));
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => this.#begin(payload.memberAssignment[this.#topic] ?? []));
    const consuming = async () => {
      await consumer.connect();
      await consumer.subscribe({ topics: [this.#topic], fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async (payload) => {
          this.#take(payload);
          if (this.#left.size === 0) finish();
        },
      });
    };
    consuming().catch(fail);
    await finished;
  }

  #begin(partitions: readonly number[]): void {
    for (const partition of partitions) this.#goOn(partition);
  }

  #goOn(partition: number): void {
    const next = this.#left.get(partition)?.[0];
    if (next === undefined) this.#consumer.pause([{ topic: this.#topic, partitions: [partition] }]);
    else this.#consumer.seek({ topic: this.#topic, partition, offset: String(next.position.offset) });
  }

  #take({ batch }: EachBatchPayload): void {
    const { partition, messages } = batch;
    const last = BigInt(batch.lastOffset());
    const left = this.#left.get(partition) ?? [];
    const passed = left.filter(({ position }) => position.offset <= last);
    const found = new Map(messages.map((message) => [message.offset, message]));
    for (const { position, resolve } of passed) {
      // Passed and not there: compacted away, or part of a transaction that was aborted.
      const message = found.get(String(position.offset));
      resolve(message === undefined ? undefined : rawMessage(this.#topic, partition, message));
    }
    if (passed.length === left.length) this.#left.delete(partition);
    else this.#left.set(partition, left.slice(passed.length));
    this.#goOn(partition);
  }
}

function closed(): ServingError {
  return new ServingError('KAFKA_UNAVAILABLE', 'the reader of single messages is closing');
}

function describe({ topic, partition, offset }: SourcePosition): string {
  return `${topic}/${partition}/${offset}`;
}
