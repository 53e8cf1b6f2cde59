/**
 * Sink on a Kafka topic: every row a record, for whoever builds an index of their own from it.
 *
 * Surprising: in a worker `stored` means that the row waits for the commit of its message. Row and offset are then written in
 * one transaction, so a reader of committed records gets each row once, however often workers are killed
 * (docs/decisions/kafka-topic.md). A row whose message is settled already, one from the retry queue, has no offset to go with:
 * it is written at once, as is everything when no source is attached.
 */

import { ServingError } from '../../errors.ts';
import { KafkaAdmin } from '../../kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../kafka/client.ts';
import { PartitionTransactions } from '../../kafka/partition-transactions.ts';
import { KafkaProducer, type OutgoingMessage } from '../../kafka/producer.ts';
import { BATCH_OVERHEAD_BYTES, inBatches, recordBytes } from '../../kafka/record-size.ts';
import { readTopicConfig, type TopicConfig } from '../../kafka/topic-config.ts';
import { TransactionalProducer } from '../../kafka/transactional-producer.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { CommitPartner } from '../../offsets/commit-partner.ts';
import type { PartitionId } from '../../offsets/epochs.ts';
import type { Deletion, SourcePosition } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import { contractMismatch, openForReading } from '../contract-check.ts';
import { screenRows } from '../row-check.ts';
import { checkQuery } from '../similarity.ts';
import {
  type CollectionDescription,
  type RowOutcome,
  type SearchHit,
  type SearchScope,
  type Sink,
  type SinkRow,
  type StoredRow,
  scopeOf,
} from '../sink.ts';
import { tooLarge, translateKafkaError } from './errors.ts';
import { tellOpened } from './opened.ts';
import { type KafkaTopicSinkOptions, type ResolvedKafkaTopicOptions, resolveKafkaTopicOptions } from './options.ts';
import { deletionRecords, rowRecord } from './record.ts';
import { lastContract, readView, type TopicViewOptions } from './topic-view.ts';
import { WaitingRows } from './waiting-rows.ts';

type Collection = {
  readonly contract: VectorContract;
  readonly config: TopicConfig;
  readonly partitions: number;
  readonly writable: boolean;
};
type Sending = {
  readonly source: SourcePosition;
  readonly name: string;
  readonly messages: readonly OutgoingMessage[];
};

const SETTING = 'RAG_SERVING_KAFKA_SINK_TOPIC';
const CALL_TIMEOUT_MS = 60_000;
/** What kafkajs sends in one request stays far below what a broker takes, also where a topic takes larger records. */
const MAX_REQUEST_BYTES = 1_048_576;
const STORED: RowOutcome = { kind: 'stored' };
/** Its partition has a new owner, who makes the row again. */
const GONE: RowOutcome = { kind: 'superseded' };

export class KafkaTopicSink implements Sink {
  readonly name = 'kafka-topic';
  readonly #options: ResolvedKafkaTopicOptions;
  readonly #log: Log;
  readonly #client: KafkaClient;
  readonly #admin: KafkaAdmin;
  readonly #producer: KafkaProducer;
  readonly #waiting: WaitingRows;
  readonly #transactions: PartitionTransactions;
  #collection: Collection | undefined;
  #closed = false;

  constructor(options: KafkaTopicSinkOptions, log: Log) {
    this.#options = resolveKafkaTopicOptions(options);
    this.#log = log;
    const { connection, compression, maxWaitingBytes, source } = this.#options;
    this.#client = createKafkaClient({ ...connection, clientId: `rag-serving.${source.groupId}`, log });
    this.#admin = new KafkaAdmin(this.#client);
    this.#producer = new KafkaProducer({ client: this.#client, compression });
    this.#waiting = new WaitingRows(maxWaitingBytes);
    this.#transactions = new PartitionTransactions({
      groupId: source.groupId,
      records: this.#waiting,
      createProducer: (id) => this.#transactional(id),
    });
  }

  /** Through it a source commits its offsets together with the rows. */
  get commits(): CommitPartner {
    return this.#transactions;
  }

  async open(contract: VectorContract, signal?: AbortSignal): Promise<void> {
    this.#checkNew(signal);
    const { topic, allowMixedFingerprints } = this.#options;
    const { held, ...opened } = await this.#bounded('opening', (until) => this.#look(until), signal);
    const name = { collection: `Kafka topic ${topic}`, setting: SETTING };
    const mismatch = held && contractMismatch(held, contract, name, allowMixedFingerprints);
    if (mismatch !== undefined) throw mismatch;
    await this.#bounded('opening', () => this.#beginOnce(), signal);
    this.#collection = { ...opened, contract, writable: true };
    tellOpened(this.#log, this.#options, this.#collection);
  }

  /** A topic that holds nothing is as good as none: only its records tell whose it is. */
  async inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined> {
    this.#checkNew(signal);
    const { topic } = this.#options;
    const look = async (until: AbortSignal) => ((await this.#admin.topicExists(topic)) ? this.#look(until) : undefined);
    const found = await this.#bounded('reading', look, signal);
    if (found?.held === undefined) return undefined;
    const { held, ...opened } = found;
    this.#collection = { ...opened, contract: { ...held, modelName: 'unknown', maxBatch: 1 }, writable: false };
    try {
      const rows = await this.count(signal);
      const index = 'the whole topic is read for each search';
      return { collection: `Kafka topic ${topic}`, setting: SETTING, ...held, rows, index };
    } catch (error) {
      this.#collection = undefined;
      throw error;
    }
  }

  async write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { contract, config } = this.#requireWritable();
    throwIfAborted(signal, 'Kafka topic write');
    const screened = screenRows(rows, contract);
    const direct: Sending[] = [];
    const outcomes = screened.accepted.map((row): RowOutcome => {
      const message = rowRecord(row, contract, this.#options.format);
      const bytes = recordBytes(message) + BATCH_OVERHEAD_BYTES;
      if (bytes > config.maxMessageBytes)
        return { kind: 'refused', error: tooLarge(row, bytes, config, this.#options.topic) };
      const sending = { source: row.source, name: `row ${row.chunkId}`, messages: [message] };
      return this.#place(sending, row.handedOver === true, direct);
    });
    await this.#send('write', direct, signal);
    return screened.complete(outcomes);
  }

  async remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]> {
    const { contract, partitions } = this.#requireWritable();
    throwIfAborted(signal, 'Kafka topic deletion');
    const direct: Sending[] = [];
    const outcomes = deletions.map((deletion) => {
      const messages = deletionRecords(deletion, contract, partitions);
      const sending = { source: deletion.source, name: `${deletion.scope} ${deletion.id}`, messages };
      return this.#place(sending, false, direct);
    });
    await this.#send('deletion', direct, signal);
    return outcomes;
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.#require();
    throwIfAborted(signal, 'Kafka topic ping');
    await this.#bounded('ping', () => this.#admin.topicBounds(this.#options.topic), signal);
  }

  async count(signal?: AbortSignal): Promise<number> {
    return (await this.#view('count', signal)).count();
  }

  async search(
    vector: Float32Array,
    wanted: number | SearchScope,
    signal?: AbortSignal,
  ): Promise<readonly SearchHit[]> {
    const scope = scopeOf(wanted);
    checkQuery(vector, scope.limit, this.#require().contract);
    return (await this.#view('search', signal)).search(vector, scope);
  }

  async fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]> {
    this.#require();
    if (chunkIds.length === 0) return [];
    return (await this.#view('fetch', signal)).fetch(chunkIds);
  }

  async close(): Promise<void> {
    const wasClosed = this.#closed;
    this.#closed = true;
    this.#collection = undefined;
    if (wasClosed) return;
    await Promise.all([this.#transactions.close(), this.#producer.close(), this.#admin.close()]);
  }

  #place(sending: Sending, handedOver: boolean, direct: Sending[]): RowOutcome {
    const side = this.#transactions.source;
    if (side === undefined || handedOver) {
      direct.push(sending);
      return STORED;
    }
    const epoch = side.epochInFlight(sending.source);
    if (epoch === undefined) return GONE;
    this.#waiting.hold(sending.source, epoch, sending.name, sending.messages);
    return STORED;
  }

  async #send(what: string, sendings: readonly Sending[], signal: AbortSignal | undefined): Promise<void> {
    if (sendings.length === 0) return;
    const { topic } = this.#options;
    const batches = inBatches(
      sendings.flatMap(({ messages }) => messages),
      this.#batchBytes(),
    );
    const send = async () => {
      for (const batch of batches) await this.#producer.send(topic, batch);
    };
    await this.#bounded(what, send, signal);
  }

  async #look(signal: AbortSignal) {
    const { topic } = this.#options;
    const partitions = (await this.#admin.topicBounds(topic)).size;
    const [config, held] = await Promise.all([
      readTopicConfig(this.#admin, topic),
      lastContract(this.#viewOptions(), signal),
    ]);
    return { config, partitions, held };
  }

  /** Whoever may not begin transactions learns it here and not at the first commit. */
  async #beginOnce(): Promise<void> {
    const { groupId, topic } = this.#options.source;
    const transactionalId = `rag-serving.${groupId}.${topic}.check`;
    const probe = new TransactionalProducer({ client: this.#client, transactionalId });
    try {
      await probe.open();
    } finally {
      await probe.close();
    }
  }

  async #view(what: string, signal: AbortSignal | undefined) {
    const { contract } = this.#require();
    throwIfAborted(signal, `Kafka topic ${what}`);
    return this.#bounded(what, (until) => readView(this.#viewOptions(), contract, until), signal);
  }

  #viewOptions(): TopicViewOptions {
    const { topic, source } = this.#options;
    return { admin: this.#admin, client: this.#client, topic, consumerGroup: source.groupId, log: this.#log };
  }

  #transactional({ topic, partition }: PartitionId) {
    const { source, compression } = this.#options;
    const transactionalId = `rag-serving.${source.groupId}.${topic}.${partition}`;
    const producer = new TransactionalProducer({ client: this.#client, transactionalId });
    return {
      open: () => producer.open(),
      write: (messages: readonly OutgoingMessage[], read: Parameters<TransactionalProducer['writeWithOffset']>[2]) =>
        producer.writeWithOffset(this.#options.topic, inBatches(messages, this.#batchBytes()), read, compression),
      close: () => producer.close(),
    };
  }

  #batchBytes(): number {
    return Math.min(this.#collection?.config.maxMessageBytes ?? MAX_REQUEST_BYTES, MAX_REQUEST_BYTES);
  }

  async #bounded<T>(
    what: string,
    work: (until: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(CALL_TIMEOUT_MS);
    const until = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      return await bounded(work(until), CALL_TIMEOUT_MS, `Kafka topic ${what}`, signal);
    } catch (error) {
      throw translateKafkaError(error, what, this.#options.topic);
    }
  }

  #checkNew(signal: AbortSignal | undefined): void {
    if (this.#closed || this.#collection) {
      throw new ServingError('ARGUMENT_INVALID', `the kafka-topic sink is ${this.#closed ? 'closed' : 'open already'}`);
    }
    throwIfAborted(signal, 'opening the Kafka topic');
  }

  #requireWritable(): Collection {
    const collection = this.#require();
    if (!collection.writable) throw openForReading('Kafka topic');
    return collection;
  }

  #require(): Collection {
    if (this.#collection !== undefined) return this.#collection;
    throw new ServingError('SINK_UNAVAILABLE', `the kafka-topic sink is ${this.#closed ? 'closed' : 'not open'}`);
  }
}
