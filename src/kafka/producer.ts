/**
 * Writes records and resolves when all in-sync replicas have them.
 *
 * Not kafkajs's idempotent producer, which never gives up: in an outage a call must end, so that its caller can decide. A
 * repeated request may so write a record twice, which is harmless here: stores and readers go by chunk id and revision.
 */
import kafkajs, { type Message, type Producer } from 'kafkajs';
import { settledWithin } from './bounded.ts';
import type { KafkaClient } from './client.ts';
import { type HeaderList, kafkaHeaders } from './headers.ts';
import { kafkaError } from './kafka-errors.ts';

export type OutgoingMessage = {
  readonly key: Uint8Array | string | null;
  /** Null is a tombstone. */
  readonly value: Uint8Array | string | null;
  readonly headers?: HeaderList;
  /** By hash of the key unless given. */
  readonly partition?: number;
};

export type ProducerCompression = 'none' | 'gzip' | 'snappy' | 'lz4';

export type ProducerOptions = { readonly client: KafkaClient; readonly compression?: ProducerCompression };

const COMPRESSION = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4' } as const;
const SEND_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 3_000;

export class KafkaProducer {
  readonly #client: KafkaClient;
  #producer: Producer;
  readonly #compression: ProducerCompression;
  #connected: Promise<void> | undefined;

  constructor({ client, compression = 'none' }: ProducerOptions) {
    this.#client = client;
    this.#compression = compression;
    this.#producer = newProducer(client);
  }

  /** Connects at the first call. Rejects with class `outage` when not everything was acknowledged; some may have been. */
  async send(topic: string, messages: readonly OutgoingMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const doing = `write ${messages.length} records to ${topic}`;
    const producer = this.#producer;
    try {
      this.#connected ??= producer.connect();
      await settledWithin(this.#connected, SEND_TIMEOUT_MS, doing);
      const compression = compressionType(this.#compression);
      const sent = producer.send({ topic, acks: -1, compression, messages: messages.map(kafkaMessage) });
      await settledWithin(sent, SEND_TIMEOUT_MS, doing);
    } catch (error) {
      const known = kafkaError(error, doing);
      // kafkajs goes on with a connection that stands, however dead it is. One of several calls that fail together does it.
      if (known.code === 'KAFKA_UNAVAILABLE' && this.#producer === producer) {
        this.#producer = newProducer(this.#client);
        void this.#disconnect(producer);
      }
      throw known;
    }
  }

  close(): Promise<void> {
    return this.#disconnect(this.#producer);
  }

  async #disconnect(producer: Producer): Promise<void> {
    const connected = this.#connected;
    this.#connected = undefined;
    if (connected === undefined) return;
    await settledWithin(
      connected.then(() => producer.disconnect()),
      CLOSE_TIMEOUT_MS,
      'disconnect',
    ).catch(() => undefined);
  }
}

export function compressionType(compression: ProducerCompression): kafkajs.CompressionTypes {
  return kafkajs.CompressionTypes[COMPRESSION[compression]];
}

function newProducer(client: KafkaClient): Producer {
  return client.kafka.producer({
    allowAutoTopicCreation: false,
    // One request at a time keeps the order of a partition when a request is repeated.
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
}

export function kafkaMessage({ key, value, headers = [], partition }: OutgoingMessage): Message {
  return {
    key: asBuffer(key),
    value: asBuffer(value),
    headers: kafkaHeaders(headers),
    ...(partition === undefined ? {} : { partition }),
  };
}

function asBuffer(content: Uint8Array | string | null): Buffer | string | null {
  return content instanceof Uint8Array ? Buffer.from(content.buffer, content.byteOffset, content.byteLength) : content;
}
