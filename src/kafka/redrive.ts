/**
 * Replays dead letters, each exactly once for readers of committed records, however often and whenever the process is killed.
 *
 * The replayed messages and the marks of their letters are one transaction. Opening takes the transactional id of the
 * dead-letter topic over, which decides what a former process had begun; only then the marks are read, so they are complete,
 * and whoever opens after us ends us before we could replay anything that he replays.
 */
import { isServingError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import type { KafkaAdmin } from './admin.ts';
import type { KafkaClient } from './client.ts';
import { messageBytes } from './dead-letter-record.ts';
import type { Letter } from './letter.ts';
import type { OutgoingMessage } from './producer.ts';
import { readRanges } from './range-reader.ts';
import { MARKS_TOPIC_SETTINGS, markMessage, marksTopicOf, RedriveMarks } from './redrive-marks.ts';
import type { Replay } from './redrive-record.ts';
import { type TopicMessages, TransactionalProducer } from './transactional-producer.ts';

export type RedriveOptions = {
  readonly client: KafkaClient;
  readonly admin: KafkaAdmin;
  readonly deadLetterTopic: string;
  readonly consumerGroup: string;
  readonly log: Log;
};

export type LetterReplay = { readonly letter: Letter; readonly replay: Replay };

/** A topic's limit counts a batch of records. */
export const MAX_TRANSACTION_BYTES = 524_288;
export const MAX_TRANSACTION_LETTERS = 100;

export function replayBytes({ replay }: LetterReplay): number {
  return messageBytes(replay.message);
}

/** The marks as they are now; none where nothing has been replayed yet. */
export async function readMarks(options: RedriveOptions, signal: AbortSignal): Promise<RedriveMarks> {
  const topic = marksTopicOf(options.deadLetterTopic);
  const marks = new RedriveMarks();
  if (!(await options.admin.topicExists(topic))) return marks;
  const ranges = new Map(
    Array.from(await options.admin.topicBounds(topic), ([partition, { low, end }]) => [
      partition,
      { from: low, to: end },
    ]),
  );
  const take = async (messages: readonly Parameters<RedriveMarks['take']>[0][]) => {
    for (const message of messages) marks.take(message);
    return 'more' as const;
  };
  await readRanges({ ...options, topic }, ranges, take, signal);
  return marks;
}

export class Redrive {
  readonly #options: RedriveOptions;
  readonly #producer: TransactionalProducer;
  readonly #marksTopic: string;

  constructor(options: RedriveOptions) {
    this.#options = options;
    this.#marksTopic = marksTopicOf(options.deadLetterTopic);
    this.#producer = new TransactionalProducer({
      client: options.client,
      transactionalId: `rag-serving.redrive.${options.deadLetterTopic}`,
    });
  }

  /** Ends any other replay of this dead-letter topic. */
  async open(signal: AbortSignal): Promise<RedriveMarks> {
    const { admin, deadLetterTopic } = this.#options;
    if (!(await admin.topicExists(this.#marksTopic))) {
      await admin.ensureTopic(this.#marksTopic, { partitions: 1, configEntries: MARKS_TOPIC_SETTINGS });
    }
    await this.#producer.open();
    const marks = await readMarks(this.#options, signal);
    await this.#forget(marks.outlived(await admin.topicBounds(deadLetterTopic)));
    return marks;
  }

  /**
   * One transaction; those that their topic does not take come back, the others are replayed then. After a rejection it is
   * unknown whether they were: another `open` knows.
   */
  async replay(all: readonly LetterReplay[], nowMs: number): Promise<readonly LetterReplay[]> {
    try {
      await this.#producer.write(this.#messages(all, nowMs));
      return [];
    } catch (error) {
      if (!isServingError(error, 'CHUNK_TOO_LARGE')) throw error;
      if (all.length === 1) return all;
      const refused: LetterReplay[] = [];
      for (const one of all) refused.push(...(await this.replay([one], nowMs)));
      return refused;
    }
  }

  close(): Promise<void> {
    return this.#producer.close();
  }

  #messages(all: readonly LetterReplay[], atMs: number): readonly TopicMessages[] {
    const byTopic = new Map<string, OutgoingMessage[]>();
    for (const { replay } of all) {
      const messages = byTopic.get(replay.topic);
      if (messages === undefined) byTopic.set(replay.topic, [replay.message]);
      else messages.push(replay.message);
    }
    const marks = all.map(({ letter, replay }) => markMessage(letter, { atMs, toTopic: replay.topic }));
    return [
      ...Array.from(byTopic, ([topic, messages]) => ({ topic, messages })),
      { topic: this.#marksTopic, messages: marks },
    ];
  }

  async #forget(removals: readonly OutgoingMessage[]): Promise<void> {
    for (let from = 0; from < removals.length; from += 1_000) {
      await this.#producer.write([{ topic: this.#marksTopic, messages: removals.slice(from, from + 1_000) }]);
    }
  }
}
