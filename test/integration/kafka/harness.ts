/** A source under test with a handler that remembers, and short ways to topics, records and offsets of a real broker. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { KafkaAdmin } from '../../../src/kafka/admin.ts';
import { createKafkaClient, type KafkaClient } from '../../../src/kafka/client.ts';
import { createKafkaSource } from '../../../src/kafka/kafka-source.ts';
import { KafkaProducer, type OutgoingMessage } from '../../../src/kafka/producer.ts';
import type { Source, TopicPartition } from '../../../src/kafka/source.ts';
import type { KafkaSourceOptions } from '../../../src/kafka/source-options.ts';
import type { RecordInFlight } from '../../../src/records/travel.ts';
import type { Log, LogFields } from '../../../src/telemetry/log.ts';

export type LogLine = { readonly level: string; readonly message: string; readonly fields: LogFields };

export function recordingLog(lines: LogLine[] = []): Log & { readonly lines: LogLine[] } {
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => recordingLog(lines),
  };
}

export function clientOf(bootstrapServers: string, log: Log = recordingLog()): KafkaClient {
  return createKafkaClient({
    bootstrapServers: [bootstrapServers],
    sasl: undefined,
    tls: undefined,
    clientId: 'test',
    log,
  });
}

export type Harness = {
  readonly source: Source;
  readonly log: ReturnType<typeof recordingLog>;
  /** All records ever delivered, and those not settled yet. */
  readonly records: RecordInFlight[];
  readonly open: Set<RecordInFlight>;
  readonly assigned: TopicPartition[][];
  readonly revoked: TopicPartition[][];
  readonly fatal: Error[];
  /** Highest number of chunks seen in flight. */
  peakChunks(): number;
  settle(record: RecordInFlight): void;
  settleAll(): void;
};

export type HarnessOptions = Partial<Omit<KafkaSourceOptions, 'client' | 'log'>> & {
  readonly topic: string;
  readonly groupId: string;
  /** Settle every record as it comes; true unless given. */
  readonly settleAtOnce?: boolean;
};

/** The members that are still up, for a test that fails half-way. */
const running = new Set<Source>();

export async function closeAll(): Promise<void> {
  await Promise.all(Array.from(running, (source) => source.close(AbortSignal.timeout(2_000)).catch(() => undefined)));
  running.clear();
}

export async function startSource(bootstrapServers: string, options: HarnessOptions): Promise<Harness> {
  const { settleAtOnce = true, ...rest } = options;
  const log = recordingLog();
  const records: RecordInFlight[] = [];
  const open = new Set<RecordInFlight>();
  const assigned: TopicPartition[][] = [];
  const revoked: TopicPartition[][] = [];
  const fatal: Error[] = [];
  let peak = 0;
  const source = createKafkaSource({
    client: clientOf(bootstrapServers, log),
    decode: { maxTextBytes: 65_536, oversizedText: 'cut', keepUnknownFields: false },
    flow: { maxInFlightChunks: 10_000, maxInFlightBytes: 64 * 1_048_576, lowRatio: 0.5 },
    commitIntervalMs: 200,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    log,
    ...rest,
  });
  const settle = (record: RecordInFlight) => {
    open.delete(record);
    record.settle(record.kind === 'reject' ? { kind: 'dead-lettered', error: record.error } : { kind: 'persisted' });
  };
  running.add(source);
  await source.start({
    onRecords: (batch) => {
      for (const record of batch) {
        records.push(record);
        open.add(record);
      }
      peak = Math.max(peak, source.status().inFlightChunks);
      if (settleAtOnce) for (const record of batch) settle(record);
    },
    onAssigned: (partitions) => void assigned.push([...partitions]),
    onRevoked: (partitions) => void revoked.push([...partitions]),
    onFatal: (error) => void fatal.push(error),
  });
  return {
    source,
    log,
    records,
    open,
    assigned,
    revoked,
    fatal,
    peakChunks: () => peak,
    settle,
    settleAll: () => open.forEach(settle),
  };
}

export async function until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await sleep(25);
  }
}

export function freshName(name: string): string {
  return `${name}-${randomUUID().slice(0, 8)}`;
}

export function chunkMessage(id: string, text = `text of ${id}`, more: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { key: id, value: JSON.stringify({ chunk_id: id, text }), ...more };
}

export function chunkMessages(count: number, partition?: number, prefix = 'c'): OutgoingMessage[] {
  return Array.from({ length: count }, (_, i) =>
    chunkMessage(`${prefix}${i}`, undefined, partition === undefined ? {} : { partition }),
  );
}

export function offsetsOf(records: readonly RecordInFlight[], partition = 0): bigint[] {
  return records
    .filter((record) => record.raw.source.partition === partition)
    .map((record) => record.raw.source.offset);
}

export type Tools = {
  readonly client: KafkaClient;
  readonly admin: KafkaAdmin;
  readonly producer: KafkaProducer;
  close(): Promise<void>;
};

export function toolsFor(bootstrapServers: string): Tools {
  const client = clientOf(bootstrapServers);
  const admin = new KafkaAdmin(client);
  const producer = new KafkaProducer({ client });
  return { client, admin, producer, close: async () => void (await Promise.all([admin.close(), producer.close()])) };
}

/** For the top of a test file: tools for its broker while its tests run. Sources are closed after each test. */
export function useTools(kafka: () => { readonly bootstrapServers: string }): Tools {
  let made: Tools | undefined;
  const tools = () => {
    if (made === undefined) throw new Error('the tools are there while the tests run');
    return made;
  };
  beforeAll(() => {
    made = toolsFor(kafka().bootstrapServers);
  });
  afterEach(closeAll);
  afterAll(() => tools().close());
  return {
    get client() {
      return tools().client;
    },
    get admin() {
      return tools().admin;
    },
    get producer() {
      return tools().producer;
    },
    close: () => tools().close(),
  };
}

/** A topic that is ready to be written to, with its name and a group for it. */
export async function freshTopic(tools: Tools, name: string, partitions = 1, config: Record<string, string> = {}) {
  const topic = freshName(name);
  await tools.admin.ensureTopic(topic, { partitions, configEntries: config });
  return { topic, groupId: freshName(`group-${name}`) };
}

export async function committedOffset(tools: Tools, groupId: string, topic: string, partition = 0): Promise<bigint> {
  return (await tools.admin.committedOffsets(groupId, topic)).get(partition) ?? -1n;
}
