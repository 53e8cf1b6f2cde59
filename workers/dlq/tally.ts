/** What `dlq stats` counts; pure. */
import type { Letter } from '../../src/kafka/letter.ts';
import type { Mark } from '../../src/kafka/redrive-marks.ts';
import type { LogBounds } from '../../src/offsets/offset-reset.ts';
import { table } from '../tool/table.ts';
import { isoTime } from './letter-line.ts';

const HOUR_MS = 3_600_000;
const AGES: readonly (readonly [name: string, belowMs: number])[] = [
  ['under 1h', HOUR_MS],
  ['1h to 1d', 24 * HOUR_MS],
  ['1d to 7d', 7 * 24 * HOUR_MS],
  ['over 7d', Number.POSITIVE_INFINITY],
];
/** Where a header says nothing. */
const UNSAID = 'unsaid';

export class Tally {
  readonly #counts = {
    code: new Map<string, number>(),
    stage: new Map<string, number>(),
    age: new Map<string, number>(),
    partition: new Map<string, number>(),
    origin: new Map<string, number>(),
    replays: new Map<string, number>(),
  };
  #letters = 0;
  #replayed = 0;
  #bytes = 0;
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;

  add(letter: Letter, mark: Mark | undefined, nowMs: number): void {
    const { code, stage, age, partition, origin, replays } = this.#counts;
    this.#letters++;
    if (mark !== undefined) this.#replayed++;
    this.#bytes += letter.raw.value?.byteLength ?? 0;
    this.#oldestMs = Math.min(this.#oldestMs, letter.atMs);
    this.#newestMs = Math.max(this.#newestMs, letter.atMs);
    const ageMs = nowMs - letter.atMs;
    const from = letter.origin === undefined ? UNSAID : `${letter.origin.topic}/${letter.origin.partition}`;
    for (const [counts, key] of [
      [code, letter.code ?? UNSAID],
      [stage, letter.stage ?? UNSAID],
      [age, AGES.find(([, belowMs]) => ageMs < belowMs)?.[0] ?? UNSAID],
      [partition, String(letter.position.partition)],
      [origin, from],
      [replays, String(letter.replays)],
    ] as const) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }

  json(topic: string, bounds: ReadonlyMap<number, LogBounds>) {
    const counts = Object.fromEntries(Object.entries(this.#counts).map(([by, map]) => [by, Object.fromEntries(map)]));
    return {
      topic,
      letters: this.#letters,
      pending: this.#letters - this.#replayed,
      replayed: this.#replayed,
      valueBytes: this.#bytes,
      oldest: isoTime(this.#oldestMs),
      newest: isoTime(this.#newestMs),
      ...counts,
      offsets: Object.fromEntries(
        Array.from(bounds, ([partition, { low, end }]) => [partition, { from: String(low), to: String(end) }]),
      ),
    };
  }

  text(topic: string): string {
    const head = `${topic}: ${this.#letters} dead letters, ${this.#letters - this.#replayed} not replayed, ${this.#bytes} bytes\n`;
    if (this.#letters === 0) return head;
    const span = `oldest ${isoTime(this.#oldestMs) ?? '-'}, newest ${isoTime(this.#newestMs) ?? '-'}\n`;
    const titles = {
      code: 'CODE',
      stage: 'STAGE',
      age: 'AGE',
      partition: 'PARTITION',
      origin: 'ORIGIN',
      replays: 'REPLAYS',
    };
    const tables = Object.entries(titles).map(([by, title]) =>
      table([title, 'LETTERS'], rowsOf(this.#counts[by as keyof typeof titles])),
    );
    return [head + span, ...tables].join('\n');
  }
}

function rowsOf(counts: ReadonlyMap<string, number>): string[][] {
  return [...counts].sort(([, a], [, b]) => b - a).map(([key, count]) => [key, String(count)]);
}
