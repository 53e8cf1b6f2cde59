/**
 * Writes records to several topics in one transaction: a reader of committed records sees all of them or none.
 *
 * Opening takes the transactional id over: whoever had it before can commit nothing any more, and what it had begun and not
 * committed is undone by then. What a process that was killed had begun holds the readers of its partitions back until someone
 * takes its id over, or until the broker's patience with it ends, which is therefore short here.
 */
import kafkajs, { type Producer, type Transaction } from 'kafkajs';
import { ServingError } from '../errors.ts';
import { settledWithin } from './bounded.ts';
import type { KafkaClient } from './client.ts';
import { brokerErrorType, coordinatedError } from './kafka-errors.ts';
import { compressionType, kafkaMessage, type OutgoingMessage, type ProducerCompression } from './producer.ts';

export type TransactionalProducerOptions = { readonly client: KafkaClient; readonly transactionalId: string };

/** What a group has read, committed with the transaction. */
export type ReadOffset = {
  readonly groupId: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly metadata: string;
};

export type TopicMessages = { readonly topic: string; readonly messages: readonly OutgoingMessage[] };

/** Of the broker's with a transaction that nobody ends. */
const TRANSACTION_TIMEOUT_MS = 15_000;
const CALL_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 3_000;
const RECENT_TROUBLE_MS = 10_000;
/** About six seconds; kafkajs would otherwise never give up. */
const RETRY = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 10 } as const;

/** What a broker says to one whose id has been taken over. */
const FENCED: readonly (string | undefined)[] = ['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED', 'INVALID_TXN_STATE'];

export class TransactionalProducer {
  readonly #producer: Producer;
  readonly #client: KafkaClient;
  readonly #id: string;

  constructor({ client, transactionalId }: TransactionalProducerOptions) {
    this.#client = client;
    this.#id = transactionalId;
    this.#producer = client.kafka.producer({
      transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      allowAutoTopicCreation: false,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      retry: { ...RETRY },
    });
  }

  async open(): Promise<void> {
    const doing = `begin transactions as ${this.#id}`;
    await this.#bounded(this.#producer.connect(), doing);
    // kafkajs takes the id over with the first transaction, not when it connects; an empty one asks nothing else of the broker.
    const empty = await this.#bounded(this.#producer.transaction(), doing);
    await this.#bounded(empty.abort(), doing);
  }

  /**
   * After a rejection this producer is of no use any more; another one's `open` with the id decides what became of the records.
   * With CHUNK_TOO_LARGE, for a topic that does not take them, none were written.
   *
   * To go on with it would lose records: when one partition refuses its records kafkajs counts those of all the others as
   * not sent, numbers the next ones the same, and a broker takes these for a repetition and drops them with a success.
   */
  async write(all: readonly TopicMessages[]): Promise<void> {
    const doing = `write ${all.map(({ topic }) => topic).join(', ')} in one transaction`;
    const transaction = await this.#bounded(this.#producer.transaction(), doing);
    try {
      const topicMessages = all.map(({ topic, messages }) => ({ topic, messages: messages.map(kafkaMessage) }));
      await this.#bounded(transaction.sendBatch({ topicMessages }), doing);
    } catch (error) {
      await this.#undo(transaction);
      throw error;
    }
    await this.#bounded(transaction.commit(), doing);
  }

  /**
   * Writes to one topic, batch after batch, and commits what a group has read, all or nothing. After a rejection the same
   * holds as for `write`. The broker does not look whether the offset is of a member: whoever has the id may commit it.
   */
  async writeWithOffset(
    topic: string,
    batches: readonly (readonly OutgoingMessage[])[],
    read: ReadOffset,
    compression: ProducerCompression,
  ): Promise<void> {
    const doing = `write ${topic} and offsets of group ${read.groupId} in one transaction`;
    const transaction = await this.#bounded(this.#producer.transaction(), doing);
    try {
      for (const batch of batches) {
        const messages = batch.map(kafkaMessage);
        await this.#bounded(transaction.send({ topic, messages, compression: compressionType(compression) }), doing);
      }
      const partitions = [{ partition: read.partition, offset: String(read.offset), metadata: read.metadata }];
      const offsets = { consumerGroupId: read.groupId, topics: [{ topic: read.topic, partitions }] };
      await this.#bounded(transaction.sendOffsets(offsets), doing);
    } catch (error) {
      await this.#undo(transaction);
      throw error;
    }
    await this.#bounded(transaction.commit(), doing);
  }

  async close(): Promise<void> {
    await settledWithin(this.#producer.disconnect(), CLOSE_TIMEOUT_MS, 'disconnect').catch(() => undefined);
  }

  /** As well as it goes: what is not undone here is undone by the next one who opens. */
  async #undo(transaction: Transaction): Promise<void> {
    await settledWithin(transaction.abort(), CLOSE_TIMEOUT_MS, 'undo a transaction').catch(() => undefined);
  }

  async #bounded<T>(work: Promise<T>, doing: string): Promise<T> {
    try {
      return await settledWithin(work, CALL_TIMEOUT_MS, doing);
    } catch (error) {
      if (FENCED.includes(brokerErrorType(error))) {
        const message = `cannot ${doing}: another process has taken ${this.#id} over`;
        throw new ServingError('KAFKA_TRANSACTION_FENCED', message, { cause: error });
      }
      throw coordinatedError(error, doing, this.#client.troubles.latest(RECENT_TROUBLE_MS));
    }
  }
}
