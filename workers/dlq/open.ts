/** What every `dlq` command works with: the worker's settings, a client, and the dead-letter topic as it is at this moment. */
import type { Env } from '../../src/config/env-reader.ts';
import { type DlqConfig, readDlqConfig } from '../../src/config/tool-programs.ts';
import { isServingError, ServingError } from '../../src/errors.ts';
import type { KafkaAdmin } from '../../src/kafka/admin.ts';
import { type Letter, letterOf } from '../../src/kafka/letter.ts';
import { readRanges } from '../../src/kafka/range-reader.ts';
import type { RedriveMarks } from '../../src/kafka/redrive-marks.ts';
import type { LogBounds } from '../../src/offsets/offset-reset.ts';
import type { ExitCode } from '../exit-codes.ts';
import { isMeant, type LetterFilter, rangesOf } from '../letters/filter.ts';
import { type KafkaTool, withKafkaTool } from '../tool/kafka-tool.ts';

export type Bounds = ReadonlyMap<number, LogBounds>;

export type OpenedDlq = KafkaTool & {
  readonly config: DlqConfig;
  readonly deadLetterTopic: string;
  readonly consumerGroup: string;
  /** Of the dead-letter topic when it was opened: what comes later is not looked at, so that reading ends. */
  readonly bounds: Bounds;
};

const SERVICE = 'rag-serving-dlq';

export async function withDlq(
  env: Env,
  work: (opened: OpenedDlq, signal: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = readDlqConfig(env);
  const { deadLetterTopic, kafka } = config;
  return withKafkaTool(config, SERVICE, async (tool, signal) => {
    const bounds = await boundsOf(tool.admin, deadLetterTopic);
    return work({ ...tool, config, deadLetterTopic, consumerGroup: kafka.consumerGroup, bounds }, signal);
  });
}

export type ScanFilter = LetterFilter & {
  /** Undefined: whether it has been replayed or not. */
  readonly replayed?: boolean | undefined;
};

/** The letters that are meant, as they lie in each partition; `take` may end it with `enough`. */
export async function scan(
  opened: OpenedDlq,
  filter: ScanFilter,
  marks: RedriveMarks | undefined,
  take: (letters: readonly Letter[]) => Promise<'more' | 'enough'>,
  signal: AbortSignal,
): Promise<void> {
  const isWanted = (letter: Letter) =>
    isMeant(filter, { ...letter, ...letter.position }) &&
    (filter.replayed === undefined || (marks?.of(letter) !== undefined) === filter.replayed);
  await readRanges(
    { ...opened, topic: opened.deadLetterTopic },
    rangesOf(filter, opened.bounds),
    async (messages) => {
      const letters = messages.map(letterOf).filter(isWanted);
      return letters.length === 0 ? 'more' : take(letters);
    },
    signal,
  );
}

async function boundsOf(admin: KafkaAdmin, topic: string): Promise<Bounds> {
  try {
    return await admin.topicBounds(topic);
  } catch (error) {
    if (!isServingError(error, 'KAFKA_TOPIC_UNKNOWN')) throw error;
    throw new ServingError(
      'KAFKA_TOPIC_UNKNOWN',
      `dead-letter topic ${topic} does not exist, or this user may not see it. The worker makes it with its first dead letter; ` +
        'its name comes from KAFKA_TOPIC and RAG_SERVING_DEAD_LETTER_TOPIC',
    );
  }
}
