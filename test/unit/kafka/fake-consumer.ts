/** kafkajs's consumer and the group inside it, played: only what is called of them. The group connects as the real one does. */
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { vi } from 'vitest';

const EVENTS = [
  'FETCH_START',
  'HEARTBEAT',
  'GROUP_JOIN',
  'CRASH',
  'RECEIVED_UNSUBSCRIBED_TOPICS',
  'COMMIT_OFFSETS',
  'END_BATCH_PROCESS',
];

const ConsumerGroup = createRequire(import.meta.url)('kafkajs/src/consumer/consumerGroup') as {
  readonly prototype: { connect(): Promise<void> };
};

export class FakeGroup {
  readonly cluster = { connect: async () => {}, refreshMetadataIfNecessary: async () => {} };
  readonly instrumentationEmitter = { emit: () => {} };
  readonly groupId = 'g';
  memberId: string | null = null;
  generationId: number | null = null;
  coordinator = { heartbeat: vi.fn(async (_request: object) => {}) };
  offsetManager = { nextOffset: (_topic: string, partition: number) => partition * 10 };
  joins = 0;
  readonly seeks: unknown[] = [];
  commitOffsets = vi.fn(async (_offsets: unknown) => {});
  assigned = () => [{ topic: 't', partitions: [0, 1] }];
  seek = (position: unknown) => void this.seeks.push(position);
  async joinAndSync(): Promise<void> {
    this.joins += 1;
  }
  async seekOffsets(_topicPartitions: unknown): Promise<void> {}
  async recoverFromOffsetOutOfRange(_error: unknown): Promise<void> {
    throw new Error('kafkajs would commit −1 or −2 here');
  }
}

export class FakeConsumer extends EventEmitter {
  readonly events = Object.fromEntries(EVENTS.map((name) => [name, name]));
  readonly group = new FakeGroup();
  connect = vi.fn(async () => {});
  subscribe = vi.fn(async () => {});
  disconnect = vi.fn(async () => {});
  eachBatch: (payload: unknown) => Promise<void> = async () => {};
  async run(config: { eachBatch: (payload: unknown) => Promise<void> }): Promise<void> {
    this.eachBatch = config.eachBatch;
    await ConsumerGroup.prototype.connect.call(this.group);
  }
}
