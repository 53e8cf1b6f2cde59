/** The topic that a worker with the sink kafka-topic writes to, as a reader of committed records sees it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { kafkaProgram } from '../../../scripts/stack/kafka-jars.ts';
import { javaArguments } from '../../../scripts/stack/kafka-java.ts';
import { readRanges } from '../../../src/kafka/range-reader.ts';
import { decodeEmbeddingRecord, type EmbeddingRecord } from '../../../src/sinks/kafka-topic/record.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import type { Env, TestTopic } from './harness.ts';

export function outputOf(topic: TestTopic): string {
  return `${topic.topic}.out`;
}

/** Settings of a worker that writes there. */
export function outputEnv(topic: TestTopic, bootstrapServers: string, target: string): Env {
  return {
    ...topic.env(bootstrapServers),
    RAG_SERVING_BATCH_INGEST_GRPC_URL: target,
    RAG_SERVING_SINK: 'kafka-topic',
    RAG_SERVING_KAFKA_SINK_TOPIC: outputOf(topic),
  };
}

export type OutputRecord = EmbeddingRecord & { readonly partition: number };

/** All that is committed, in the order of each partition. */
export async function readOutput(topic: TestTopic): Promise<readonly OutputRecord[]> {
  const name = outputOf(topic);
  const bounds = await topic.admin.topicBounds(name);
  const ranges = new Map(Array.from(bounds, ([partition, { low, end }]) => [partition, { from: low, to: end }]));
  const records: OutputRecord[] = [];
  const options = { client: topic.client, topic: name, consumerGroup: topic.group, log: silentLog };
  await readRanges(
    options,
    ranges,
    async (messages) => {
      for (const message of messages)
        records.push({ ...decodeEmbeddingRecord(message), partition: message.source.partition });
      return 'more';
    },
    AbortSignal.timeout(60_000),
  );
  return records;
}

/** How often each chunk is there. */
export function timesOf(records: readonly OutputRecord[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const record of records) {
    if (record.kind === 'embedding') times.set(record.row.chunkId, (times.get(record.row.chunkId) ?? 0) + 1);
  }
  return times;
}

/** The same as Kafka's own client sees it, which shares no code with ours. */
export async function timesByJava(topic: TestTopic, bootstrapServers: string): Promise<ReadonlyMap<string, number>> {
  const { java, libs } = await kafkaProgram(() => undefined);
  const args = ['--bootstrap-server', bootstrapServers, '--topic', outputOf(topic), '--from-beginning'];
  args.push('--isolation-level', 'read_committed', '--timeout-ms', '20000');
  args.push('--formatter-property', 'print.key=true', '--formatter-property', 'print.value=false');
  const command = javaArguments(libs, 'org.apache.kafka.tools.consumer.ConsoleConsumer', args);
  const { stdout } = await promisify(execFile)(java.executable, command, { maxBuffer: 1 << 26, timeout: 120_000 });
  const times = new Map<string, number>();
  for (const id of stdout.split('\n').filter((line) => line !== '')) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}
