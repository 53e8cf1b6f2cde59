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
import { readRanges, type TakeMessages } from './range-reader.ts';
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
  const marks = new RedriveMarks();
  const isThere = await options.admin.topicExists(marksTopicOf(options.deadLetterTopic));
  if (isThere) await readInto(marks, options, signal);
  return marks;
}

/** Rejects where the topic is not to be seen: to take that for no marks would replay everything again. */
async function readInto(marks: RedriveMarks, options: RedriveOptions, signal: AbortSignal): Promise<void> {
  const topic = marksTopicOf(options.deadLetterTopic);
  const bounds = await options.admin.topicBounds(topic);
  const ranges = new Map(Array.from(bounds, ([partition, { low, end }]) => [partition, { from: low, to: end }]));
  const take: TakeMessages = async (messages) => {
    for (const message of messages) marks.take(message);
    return 'more';
  };
  await readRanges({ ...options, topic }, ranges, take, signal);
}

export type ReplayOutcome = {
  readonly replayed: readonly LetterReplay[];
  /** By someone else, since the marks were read. */
  readonly already: readonly LetterReplay[];
  /** Their topic does not take them. */
  readonly tooLarge: readonly LetterReplay[];
};

const NOTHING: ReplayOutcome = { replayed: [], already: [], tooLarge: [] };

export class Redrive {
  /** Of all that was replayed before this run, and of what others have replayed meanwhile as far as it is known. */
  readonly marks = new RedriveMarks();
  readonly #options: RedriveOptions;
  readonly #marksTopic: string;
  #producer: TransactionalProducer;

  constructor(options: RedriveOptions) {
    this.#options = options;
    this.#marksTopic = marksTopicOf(options.deadLetterTopic);
    this.#producer = this.#newProducer();
  }

  /** Ends any other replay of this dead-letter topic. */
  async open(signal: AbortSignal): Promise<void> {
    const { admin, deadLetterTopic } = this.#options;
    if (!(await admin.topicExists(this.#marksTopic))) {
      await admin.ensureTopic(this.#marksTopic, { partitions: 1, configEntries: MARKS_TOPIC_SETTINGS });
    }
    await this.#producer.open();
    await readInto(this.marks, this.#options, signal);
    await this.#forget(this.marks.outlived(await admin.topicBounds(deadLetterTopic)));
  }

  /** After a rejection it is unknown whether they were replayed: another `open` knows. */
  async replay(all: readonly LetterReplay[], nowMs: number, signal: AbortSignal): Promise<ReplayOutcome> {
    try {
      await this.#producer.write(this.#messages(all, nowMs));
      return { ...NOTHING, replayed: all };
    } catch (error) {
      if (!isServingError(error, 'CHUNK_TOO_LARGE')) throw error;
      await this.#reopen(signal);
      return all.length === 1 ? { ...NOTHING, tooLarge: all } : await this.#replayEach(all, nowMs, signal);
    }
  }

  close(): Promise<void> {
    return this.#producer.close();
  }

  async #replayEach(all: readonly LetterReplay[], nowMs: number, signal: AbortSignal): Promise<ReplayOutcome> {
    const outcomes: ReplayOutcome[] = [];
    for (const one of all) {
      const isMarked = this.marks.of(one.letter) !== undefined;
      outcomes.push(isMarked ? { ...NOTHING, already: [one] } : await this.replay([one], nowMs, signal));
    }
    return {
      replayed: outcomes.flatMap(({ replayed }) => replayed),
      already: outcomes.flatMap(({ already }) => already),
      tooLarge: outcomes.flatMap(({ tooLarge }) => tooLarge),
    };
  }

  /** Someone may have had the id in between, so the marks are read again. */
  async #reopen(signal: AbortSignal): Promise<void> {
    await this.#producer.close();
    this.#producer = this.#newProducer();
    await this.#producer.open();
    await readInto(this.marks, this.#options, signal);
  }

  #newProducer(): TransactionalProducer {
    const { client, deadLetterTopic } = this.#options;
    return new TransactionalProducer({ client, transactionalId: `rag-serving.redrive.${deadLetterTopic}` });
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
