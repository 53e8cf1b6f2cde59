/** Dead letters on a real broker, and the `dlq` command as a person runs it, from dist/. */
import type { KafkaMessage } from 'kafkajs';
import { type LogLine, Program } from '../../../scripts/stack/program.ts';
import { ServingError } from '../../../src/errors.ts';
import type { DeadLetter } from '../../../src/kafka/dead-letter.ts';
import { createDeadLetters } from '../../../src/kafka/dead-letters.ts';
import { readRanges } from '../../../src/kafka/range-reader.ts';
import type { RawMessage } from '../../../src/records/chunk.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { type Env, TestTopic } from '../worker/harness.ts';

export type CommandEnd = {
  readonly code: number | null;
  readonly output: string;
  readonly lines: readonly LogLine[];
};

export async function endOf(program: Program): Promise<CommandEnd> {
  const { code } = await program.exited;
  return { code, output: program.output, lines: program.lines };
}

export class DlqWorld {
  readonly topic: TestTopic;
  readonly dlq: string;
  readonly env: Env;

  constructor(bootstrapServers: string) {
    this.topic = new TestTopic(bootstrapServers);
    this.dlq = `${this.topic.topic}.dlq`;
    this.env = this.topic.env(bootstrapServers);
  }

  start(args: readonly string[], more: Env = {}): Program {
    return new Program(args, { ...this.env, ...more });
  }

  run(args: readonly string[], more: Env = {}): Promise<CommandEnd> {
    return endOf(this.start(args, more));
  }

  /** Written as the worker writes them. */
  async write(letters: readonly DeadLetter[], partitions = 1): Promise<void> {
    const { client } = this.topic;
    const port = createDeadLetters({ client, topic: this.dlq, workerId: 'w1', log: silentLog, partitions });
    await port.send(letters);
    await port.close();
  }

  letter(offset: number, more: Partial<DeadLetter> = {}, value?: string): DeadLetter {
    const raw: RawMessage = {
      source: { topic: this.topic.topic, partition: 0, offset: BigInt(offset) },
      key: Buffer.from(`doc-${offset % 5}`),
      value: Buffer.from(
        value ??
          JSON.stringify({ chunk_id: `c${offset}`, document_id: `doc-${offset % 5}`, text: `SENTINEL text ${offset}` }),
      ),
      headers: [['mine', Buffer.from('SENTINEL header')]],
      timestampMs: Date.now(),
    };
    const error = new ServingError('INFERENCE_REJECTED', 'rejected');
    return { raw, index: undefined, error, stage: 'embed', attempts: 2, ...more };
  }

  /** What a reader of committed messages sees of a topic now. */
  async committed(topic = this.topic.topic): Promise<readonly RawMessage[]> {
    const { client, admin, group } = this.topic;
    const bounds = await admin.topicBounds(topic);
    const ranges = new Map(Array.from(bounds, ([partition, { low, end }]) => [partition, { from: low, to: end }]));
    const found: RawMessage[] = [];
    const take = async (messages: readonly RawMessage[]) => {
      found.push(...messages);
      return 'more' as const;
    };
    const options = { client, topic, consumerGroup: group, log: silentLog };
    await readRanges(options, ranges, take, AbortSignal.timeout(60_000));
    return found;
  }

  close(): Promise<void> {
    return this.topic.close();
  }
}

export function headerOf({ headers }: RawMessage, name: string): string | undefined {
  const found = headers.findLast(([one]) => one === name)?.[1];
  return found === undefined || found === null ? undefined : Buffer.from(found).toString();
}

export function chunkIdOf({ value }: Pick<KafkaMessage, 'value'> | RawMessage): string {
  return (JSON.parse(Buffer.from(value ?? []).toString()) as { chunk_id: string }).chunk_id;
}
