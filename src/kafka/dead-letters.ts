/**
 * The DeadLetters port on Kafka: each source topic has its `<topic>.dlq`, made at the first letter when that is allowed.
 *
 * Letters go in requests of bounded size, for the broker's limit counts a whole batch. A broker that takes less than
 * `maxRecordBytes` gets the letters one by one and shorter, down to a kilobyte: a letter that cannot be written would hold
 * its partition for ever.
 */
import { type Clock, systemClock } from '../clock.ts';
import { isServingError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { KafkaAdmin } from './admin.ts';
import type { KafkaClient } from './client.ts';
import type { DeadLetter, DeadLetters } from './dead-letter.ts';
import { deadLetterMessage, deadLetterTopic, messageBytes } from './dead-letter-record.ts';
import { KafkaProducer, type OutgoingMessage } from './producer.ts';

export type DeadLettersOptions = {
  readonly client: KafkaClient;
  readonly workerId: string;
  readonly log: Log;
  /** True unless given: makes a missing dead-letter topic. */
  readonly createTopic?: boolean;
  /** Partitions of a topic that is made; 1 unless given. */
  readonly partitions?: number;
  /** Just below the broker's own default unless given. */
  readonly maxRecordBytes?: number;
  readonly clock?: Clock;
};

const MAX_RECORD_BYTES = 1_000_000;
const MIN_RECORD_BYTES = 1_024;

export function createDeadLetters(options: DeadLettersOptions): DeadLetters {
  return new KafkaDeadLetters(options);
}

class KafkaDeadLetters implements DeadLetters {
  readonly #options: DeadLettersOptions;
  readonly #producer: KafkaProducer;
  readonly #admin: KafkaAdmin;
  readonly #maxRecordBytes: number;
  readonly #ready = new Map<string, Promise<void>>();

  constructor(options: DeadLettersOptions) {
    this.#options = options;
    this.#producer = new KafkaProducer({ client: options.client });
    this.#admin = new KafkaAdmin(options.client);
    this.#maxRecordBytes = options.maxRecordBytes ?? MAX_RECORD_BYTES;
  }

  async send(letters: readonly DeadLetter[]): Promise<void> {
    const byTopic = new Map<string, DeadLetter[]>();
    for (const letter of letters) {
      const topic = deadLetterTopic(letter.raw.source.topic);
      byTopic.set(topic, [...(byTopic.get(topic) ?? []), letter]);
    }
    for (const [topic, group] of byTopic) {
      await this.#ensure(topic);
      try {
        await this.#sendAll(topic, group);
      } catch (error) {
        // It may be gone since it was looked at; the caller's next try makes it again.
        if (isServingError(error, 'KAFKA_TOPIC_UNKNOWN')) this.#ready.delete(topic);
        throw error;
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#producer.close(), this.#admin.close()]);
  }

  async #sendAll(topic: string, letters: readonly DeadLetter[]): Promise<void> {
    let request: { letter: DeadLetter; message: OutgoingMessage }[] = [];
    let bytes = 0;
    for (const letter of letters) {
      const message = this.#message(letter, this.#maxRecordBytes);
      const size = messageBytes(message);
      if (request.length > 0 && bytes + size > this.#maxRecordBytes) {
        await this.#sendRequest(topic, request);
        request = [];
        bytes = 0;
      }
      request.push({ letter, message });
      bytes += size;
    }
    await this.#sendRequest(topic, request);
  }

  async #sendRequest(
    topic: string,
    request: readonly { letter: DeadLetter; message: OutgoingMessage }[],
  ): Promise<void> {
    try {
      await this.#producer.send(
        topic,
        request.map(({ message }) => message),
      );
    } catch (error) {
      if (!isServingError(error, 'CHUNK_TOO_LARGE')) throw error;
      for (const { letter } of request) await this.#sendShorter(topic, letter);
    }
  }

  async #sendShorter(topic: string, letter: DeadLetter): Promise<void> {
    for (let limit = this.#maxRecordBytes; ; limit /= 4) {
      try {
        return await this.#producer.send(topic, [this.#message(letter, Math.floor(limit))]);
      } catch (error) {
        if (!isServingError(error, 'CHUNK_TOO_LARGE') || limit < MIN_RECORD_BYTES) throw error;
      }
    }
  }

  #message(letter: DeadLetter, maxRecordBytes: number): OutgoingMessage {
    const { workerId, clock = systemClock } = this.#options;
    return deadLetterMessage(letter, { workerId, atMs: clock.wallMs(), maxRecordBytes });
  }

  #ensure(topic: string): Promise<void> {
    if (this.#options.createTopic === false) return Promise.resolve();
    const known = this.#ready.get(topic);
    if (known !== undefined) return known;
    const ready = this.#create(topic).catch((error: unknown) => {
      this.#ready.delete(topic);
      throw error;
    });
    this.#ready.set(topic, ready);
    return ready;
  }

  async #create(topic: string): Promise<void> {
    // Asked first, for a worker may have the right to write to it without the right to make it.
    if (await this.#admin.topicExists(topic)) return;
    const made = await this.#admin.ensureTopic(topic, { partitions: this.#options.partitions ?? 1 });
    if (made) this.#options.log.info('dead-letter topic made', { topic });
  }
}
