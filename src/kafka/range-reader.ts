/**
 * Reads what lies in ranges of a topic's partitions, then ends: for tools that look at a topic as it is now.
 *
 * kafkajs reads only as a member of a group, so a throw-away group is made and deleted. Its handler is not told of a batch in
 * which nothing is for us (transaction markers, aborted records), but its event for the end of a batch tells where that batch
 * ended; without it a range that ends in a marker would never be read to its end.
 */
import type { Consumer, EachBatchPayload } from 'kafkajs';
import { ServingError } from '../errors.ts';
import { onAbort } from '../on-abort.ts';
import type { RawMessage } from '../records/chunk.ts';
import { coordinatedError } from './kafka-errors.ts';
import { rawMessage } from './raw-message.ts';
import { inReaderGroup, type ReaderGroupOptions } from './reader-group.ts';

export type OffsetRange = {
  readonly from: bigint;
  /** The first offset that is not read any more. */
  readonly to: bigint;
};

export type RangeReaderOptions = ReaderGroupOptions & {
  readonly topic: string;
  /** The longest time without anything read. */
  readonly idleTimeoutMs?: number;
};

/** `enough` ends the reading. The next messages of any partition come when it has resolved, however long that takes. */
export type TakeMessages = (messages: readonly RawMessage[]) => Promise<'more' | 'enough'>;

const IDLE_TIMEOUT_MS = 30_000;
const SESSION_TIMEOUT_MS = 30_000;
const HEARTBEAT_EVERY_MS = 3_000;
const RECENT_TROUBLE_MS = 10_000;

/** Messages of one partition come in their order. Rejects with the reason of the signal, or class `outage` or `fatal`. */
export async function readRanges(
  options: RangeReaderOptions,
  ranges: ReadonlyMap<number, OffsetRange>,
  take: TakeMessages,
  signal: AbortSignal,
): Promise<void> {
  const left = new Map([...ranges].filter(([, { from, to }]) => from < to));
  signal.throwIfAborted();
  if (left.size === 0) return;
  await inReaderGroup(options, SESSION_TIMEOUT_MS, async (consumer) => {
    try {
      await new RangeReading(consumer, options, left, take).run(signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const trouble = options.client.troubles.latest(RECENT_TROUBLE_MS);
      throw coordinatedError(error, `read topic ${options.topic}`, trouble);
    }
  });
}

class RangeReading {
  readonly #consumer: Consumer;
  readonly #options: RangeReaderOptions;
  readonly #take: TakeMessages;
  /** By partition; `from` moves on. */
  readonly #left: Map<number, OffsetRange>;
  #finish = (): void => {};
  #fail = (_error: unknown): void => {};
  #idle: NodeJS.Timeout | undefined;
  /** Someone is busy with what came; that may take long. */
  #taking: Promise<'more' | 'enough'> | undefined;

  constructor(consumer: Consumer, options: RangeReaderOptions, left: Map<number, OffsetRange>, take: TakeMessages) {
    this.#consumer = consumer;
    this.#options = options;
    this.#left = left;
    this.#take = take;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { topic } = this.#options;
    const consumer = this.#consumer;
    const finished = new Promise<void>((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    finished.catch(() => undefined);
    const stopListening = onAbort(signal, () => this.#fail(signal.reason));
    consumer.on(consumer.events.CRASH, ({ payload }) => this.#fail(payload.error));
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      for (const partition of payload.memberAssignment[topic] ?? []) this.#goTo(partition);
    });
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) =>
      this.#passed(payload.partition, BigInt(payload.lastOffset) + 1n),
    );
    const consuming = async () => {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: (payload) => this.#batch(payload),
      });
    };
    try {
      this.#watchIdle();
      consuming().catch((error: unknown) => this.#fail(error));
      await finished;
    } finally {
      clearTimeout(this.#idle);
      stopListening();
      // What was begun with the last messages comes to its end first, however the reading ended.
      await this.#taking?.catch(() => undefined);
    }
  }

  #goTo(partition: number): void {
    const { topic } = this.#options;
    const range = this.#left.get(partition);
    if (range === undefined) this.#consumer.pause([{ topic, partitions: [partition] }]);
    else this.#consumer.seek({ topic, partition, offset: String(range.from) });
  }

  /** Never rejects: kafkajs would repeat the batch, or die of it with the process alive. */
  async #batch({ batch, heartbeat, resolveOffset }: EachBatchPayload): Promise<void> {
    const range = this.#left.get(batch.partition);
    const next = BigInt(batch.lastOffset()) + 1n;
    if (range === undefined || next <= range.from) return;
    resolveOffset(batch.lastOffset());
    const messages = batch.messages
      .map((message) => rawMessage(batch.topic, batch.partition, message))
      .filter(({ source: { offset } }) => offset >= range.from && offset < range.to);
    const beating = setInterval(() => void heartbeat().catch(() => undefined), HEARTBEAT_EVERY_MS);
    try {
      // Moved on before it is taken: should the group be joined anew meanwhile, the batch must not be taken twice.
      this.#left.set(batch.partition, { ...range, from: next });
      if (messages.length > 0) {
        this.#taking = this.#take(messages);
        if ((await this.#taking) === 'enough') this.#left.clear();
      }
    } catch (error) {
      this.#left.clear();
      this.#fail(error);
    } finally {
      clearInterval(beating);
      this.#taking = undefined;
    }
    this.#passed(batch.partition, next);
  }

  #passed(partition: number, next: bigint): void {
    this.#watchIdle();
    const range = this.#left.get(partition);
    if (range !== undefined && next >= range.from) {
      if (next < range.to) this.#left.set(partition, { ...range, from: next });
      else {
        this.#left.delete(partition);
        this.#goTo(partition);
      }
    }
    if (this.#left.size === 0) this.#finish();
  }

  #watchIdle(): void {
    const { topic, idleTimeoutMs = IDLE_TIMEOUT_MS } = this.#options;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#taking !== undefined) return this.#watchIdle();
      const doing = `read topic ${topic}: nothing came for ${idleTimeoutMs} ms`;
      this.#fail(new ServingError('KAFKA_UNAVAILABLE', `cannot ${doing}`));
    }, idleTimeoutMs);
  }
}
