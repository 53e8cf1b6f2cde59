/** The broker as producer and checker see it, past the proxy and past the product's own clients: sends, offsets, commits. */
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type Producer } from 'kafkajs';
import type { ChaosMessage } from './stream.ts';

/** An outage of the broker is part of the game; one that lasts longer is not. */
const SEND_WITHIN_MS = 120_000;
const PAUSE_MS = 200;
const ANSWER_TIMEOUT_MS = 5_000;

export class ChaosBroker {
  readonly topic: string;
  readonly group: string;
  readonly #kafka: kafkajs.Kafka;
  readonly #producer: Producer;
  readonly #admin: Admin;

  constructor(bootstrapServers: string, topic: string, group: string) {
    this.topic = topic;
    this.group = group;
    this.#kafka = new kafkajs.Kafka({
      clientId: 'chaos',
      brokers: [bootstrapServers],
      logLevel: kafkajs.logLevel.NOTHING,
      requestTimeout: ANSWER_TIMEOUT_MS,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
    });
    this.#admin = this.#kafka.admin();
    this.#producer = this.#kafka.producer({
      allowAutoTopicCreation: false,
      // Requests one after the other: a repeated one then stands right behind the attempt whose answer was lost.
      maxInFlightRequests: 1,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
  }

  async open(): Promise<void> {
    await this.#admin.connect();
    await this.#producer.connect();
  }

  /** Base offset of each partition's share, once the broker has acknowledged all of it. Repeated until then. */
  async send(messages: readonly ChaosMessage[]): Promise<ReadonlyMap<number, bigint>> {
    const records = messages.map(({ partition, key, value, headers }) => ({ partition, key, value, headers }));
    for (const deadline = Date.now() + SEND_WITHIN_MS; ; await sleep(PAUSE_MS)) {
      try {
        const answers = await this.#producer.send({ topic: this.topic, acks: -1, messages: records });
        return new Map(answers.map(({ partition, baseOffset }) => [partition, BigInt(baseOffset ?? -1)]));
      } catch (cause) {
        if (Date.now() > deadline) throw new Error(`the broker took nothing for ${SEND_WITHIN_MS} ms`, { cause });
      }
    }
  }

  /** Committed offset by partition, 0 where there is none. */
  async committed(partitions: number): Promise<bigint[]> {
    const [answer] = await this.#admin.fetchOffsets({ groupId: this.group, topics: [this.topic] });
    const offsets = Array.from({ length: partitions }, () => 0n);
    for (const { partition, offset } of answer?.partitions ?? []) {
      if (BigInt(offset) > 0n) offsets[partition] = BigInt(offset);
    }
    return offsets;
  }

  /** Records of a topic; 0 when there is no such topic. */
  async count(topic: string): Promise<bigint> {
    if (!(await this.#admin.listTopics()).includes(topic)) return 0n;
    const ends = await this.#admin.fetchTopicOffsets(topic);
    return ends.reduce((sum, { high, low }) => sum + BigInt(high) - BigInt(low), 0n);
  }

  async close(): Promise<void> {
    await Promise.all([this.#producer.disconnect(), this.#admin.disconnect()]);
  }
}
