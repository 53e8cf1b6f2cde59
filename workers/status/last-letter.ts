/**
 * Why the newest dead letter is there. Kafka tells what lies in a topic only to members of a group, and joining one takes
 * seconds, so the topic is read only when it has grown, and while one look goes on no other begins.
 */
import type { KafkaClient } from '../../src/kafka/client.ts';
import { type Letter, letterOf } from '../../src/kafka/letter.ts';
import { type OffsetRange, readRanges } from '../../src/kafka/range-reader.ts';
import type { LogBounds } from '../../src/offsets/offset-reset.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { LastLetter } from './report.ts';

export type LetterPlace = {
  readonly client: KafkaClient;
  readonly log: Log;
  readonly topic: string;
  readonly consumerGroup: string;
};

type Bounds = ReadonlyMap<number, LogBounds>;

export class LastLetterReader {
  readonly #place: LetterPlace;
  #ends = '';
  #last: LastLetter | undefined;
  #reading: Promise<Letter | undefined> | undefined;

  constructor(place: LetterPlace) {
    this.#place = place;
  }

  /** Undefined when nothing is there, or what is there are markers only. */
  async read(bounds: Bounds, signal: AbortSignal): Promise<LastLetter | undefined> {
    const ends = endsOf(bounds);
    if (ends === this.#ends) return this.#last;
    this.#reading = newestOf(this.#place, bounds, signal);
    const found = await this.#reading;
    this.#last = found && { code: found.code, stage: found.stage, atMs: found.atMs };
    this.#ends = ends;
    return this.#last;
  }

  /** When the group of a reading that was stopped is gone too. */
  async ended(): Promise<void> {
    await this.#reading?.catch(() => undefined);
  }
}

async function newestOf(place: LetterPlace, bounds: Bounds, signal: AbortSignal): Promise<Letter | undefined> {
  const ranges = new Map<number, OffsetRange>();
  for (const [partition, { low, end }] of bounds) {
    if (end > low) ranges.set(partition, { from: end - 1n, to: end });
  }
  let newest: Letter | undefined;
  await readRanges(
    place,
    ranges,
    async (messages) => {
      for (const letter of messages.map(letterOf))
        if (newest === undefined || letter.atMs > newest.atMs) newest = letter;
      return 'more';
    },
    signal,
  );
  return newest;
}

function endsOf(bounds: Bounds): string {
  return Array.from(bounds, ([partition, { low, end }]) => `${partition}:${low}-${end}`).join(' ');
}
