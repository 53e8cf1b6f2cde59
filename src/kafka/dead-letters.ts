/**
 * The DeadLetters port on Kafka: one topic for the letters of a worker, made at the first letter when that is allowed.
 *
 * Letters go in requests of bounded size, for the broker's limit counts a whole batch. A letter that the topic does not take
 * whole is sent alone and shorter, down to a kilobyte: one that cannot be written would hold its partition for ever.
 */
import { type Clock, systemClock } from '../clock.ts';
import { isServingError, ServingError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { KafkaAdmin } from './admin.ts';
import type { KafkaClient } from './client.ts';
import type { DeadLetter, DeadLetters } from './dead-letter.ts';
import { MessageCopies } from './dead-letter-copies.ts';
import { deadLetterMessage, messageBytes } from './dead-letter-record.ts';
import { KafkaProducer, type OutgoingMessage } from './producer.ts';

export type DeadLettersOptions = {
  readonly client: KafkaClient;
  readonly topic: string;
  readonly workerId: string;
  readonly log: Log;
  /** True unless given: makes a missing dead-letter topic. */
  readonly createTopic?: boolean;
  /** Partitions of a topic that is made; 1 unless given. */
  readonly partitions?: number;
  /** Of a request of several letters, and of a letter that the topic does not take whole. */
  readonly maxRequestBytes?: number;
  readonly clock?: Clock;
};

/** Just below what a topic takes unless it is told otherwise. */
const MAX_REQUEST_BYTES = 1_000_000;
/** A broker hangs up on more than 100 MiB (`socket.request.max.bytes`) without an answer that says why. */
const MAX_WHOLE_BYTES = 67_108_864;
const MIN_RECORD_BYTES = 1_024;
/** Of a letter whose message others hold already. */
const BEGINNING_BYTES = 4_096;

type Entry = { readonly letter: DeadLetter; readonly message: OutgoingMessage; readonly whole: boolean };

export function createDeadLetters(options: DeadLettersOptions): DeadLetters {
  return new KafkaDeadLetters(options);
}

class KafkaDeadLetters implements DeadLetters {
  readonly #options: DeadLettersOptions;
  readonly #producer: KafkaProducer;
  readonly #admin: KafkaAdmin;
  readonly #maxRequestBytes: number;
  readonly #copies = new MessageCopies();
  #ready: Promise<void> | undefined;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
    this.#producer = new KafkaProducer({ client: options.client });
    this.#admin = new KafkaAdmin(options.client);
    this.#maxRequestBytes = options.maxRequestBytes ?? MAX_REQUEST_BYTES;
  }

  async send(letters: readonly DeadLetter[]): Promise<void> {
    if (letters.length === 0) return;
    try {
      if (this.#options.createTopic !== false) await (this.#ready ??= this.#ensure());
      await this.#sendAll(letters);
    } catch (error) {
      throw this.#known(error);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#producer.close(), this.#admin.close()]);
  }

  /** It may be gone since it was looked at, or not have reached every broker yet: the caller's next try makes it again. */
  #known(error: unknown): unknown {
    const { topic, createTopic } = this.#options;
    if (!isServingError(error, 'KAFKA_TOPIC_UNKNOWN') || createTopic === false) return error;
    this.#ready = undefined;
    return new ServingError('KAFKA_UNAVAILABLE', `dead-letter topic ${topic} is not there yet`, { cause: error });
  }

  async #sendAll(letters: readonly DeadLetter[]): Promise<void> {
    let request: Entry[] = [];
    let bytes = 0;
    for (const letter of letters) {
      const whole = this.#copies.take(letter);
      const message = this.#message(letter, whole ? MAX_WHOLE_BYTES : BEGINNING_BYTES);
      const size = messageBytes(message);
      if (request.length > 0 && bytes + size > this.#maxRequestBytes) {
        await this.#sendRequest(request);
        request = [];
        bytes = 0;
      }
      request.push({ letter, message, whole });
      bytes += size;
    }
    await this.#sendRequest(request);
  }

  async #sendRequest(request: readonly Entry[]): Promise<void> {
    try {
      await this.#producer.send(
        this.#options.topic,
        request.map(({ message }) => message),
      );
    } catch (error) {
      if (isServingError(error, 'CHUNK_TOO_LARGE')) {
        for (const { letter } of request) await this.#sendShorter(letter);
        return;
      }
      for (const { letter, whole } of request) if (whole) this.#copies.giveBack(letter);
      throw error;
    }
  }

  async #sendShorter(letter: DeadLetter): Promise<void> {
    for (let limit = MAX_WHOLE_BYTES; ; limit = Math.floor(Math.min(limit / 4, this.#maxRequestBytes))) {
      try {
        return await this.#producer.send(this.#options.topic, [this.#message(letter, limit)]);
      } catch (error) {
        if (!isServingError(error, 'CHUNK_TOO_LARGE') || limit < MIN_RECORD_BYTES) throw error;
      }
    }
  }

  #message(letter: DeadLetter, maxRecordBytes: number): OutgoingMessage {
    const { workerId, clock = systemClock } = this.#options;
    return deadLetterMessage(letter, { workerId, atMs: clock.wallMs(), maxRecordBytes });
  }

  async #ensure(): Promise<void> {
    const { topic, partitions = 1, log } = this.#options;
    try {
      // Asked first, for a worker may have the right to write to it without the right to make it.
      if (await this.#admin.topicExists(topic)) return;
      if (await this.#admin.ensureTopic(topic, { partitions })) log.info('dead-letter topic made', { topic });
    } catch (error) {
      this.#ready = undefined;
      throw error;
    }
  }
}
