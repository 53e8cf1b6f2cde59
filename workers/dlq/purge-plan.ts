/**
 * What a purge deletes; pure. Kafka deletes records from the beginning of a partition up to an offset and nothing else, so
 * only what is true of a beginning can be chosen: up to an offset, up to a time, as long as all are replayed, or everything.
 */
import { ServingError } from '../../src/errors.ts';
import type { Letter } from '../../src/kafka/letter.ts';
import type { LogBounds } from '../../src/offsets/offset-reset.ts';
import type { FilterFlags } from '../letters/filter-options.ts';

export type PurgeFlags = Pick<FilterFlags, 'until' | 'partition' | 'offset'> & {
  readonly code?: readonly string[];
  readonly since?: number;
  readonly chunk?: readonly string[];
  readonly document?: readonly string[];
  readonly replayed?: true;
  readonly all?: true;
};

/** Rejects what cannot be honoured: to delete more than was chosen cannot be taken back. */
export function checkPurge(flags: PurgeFlags, partitions: number): void {
  const { code = [], since, chunk = [], document = [], until, offset, replayed, all, partition = [] } = flags;
  const unable = [
    ...(code.length > 0 ? ['--code'] : []),
    ...(since !== undefined ? ['--since'] : []),
    ...(chunk.length > 0 ? ['--chunk'] : []),
    ...(document.length > 0 ? ['--document'] : []),
  ];
  if (unable.length > 0) {
    throw refused(
      `${unable.join(', ')} cannot choose what is purged: Kafka deletes only from the beginning of a partition up to an offset. ` +
        'Use --until, --offset ..N, --replayed or --all',
    );
  }
  if (until === undefined && offset === undefined && replayed === undefined && all === undefined) {
    throw refused('say what to purge: --until TIME, --offset ..N, --replayed, or --all');
  }
  if (all === true && (until !== undefined || offset !== undefined || replayed === true)) {
    throw refused('--all goes with none of --until, --offset and --replayed');
  }
  if (offset !== undefined && (offset.from !== 0n || offset.to === undefined)) {
    throw refused('--offset must begin at the beginning to choose what is purged: ..N');
  }
  if (offset !== undefined && partition.length !== 1 && partitions > 1) {
    throw refused(
      `--offset needs one --partition: offsets of the ${partitions} partitions have nothing to do with each other`,
    );
  }
}

/** Finds, for each partition, the end of the beginning that is meant. Letters come in the order of their partition. */
export class PurgePlan {
  readonly #flags: PurgeFlags;
  readonly #isReplayed: (letter: Letter) => boolean;
  readonly #before = new Map<number, bigint>();
  readonly #ended = new Set<number>();
  letters = 0;
  pending = 0;

  constructor(flags: PurgeFlags, isReplayed: (letter: Letter) => boolean) {
    this.#flags = flags;
    this.#isReplayed = isReplayed;
  }

  add(letter: Letter): void {
    const { partition, offset } = letter.position;
    if (this.#ended.has(partition)) return;
    const { until, replayed } = this.#flags;
    const isReplayed = this.#isReplayed(letter);
    if ((until !== undefined && letter.atMs >= until) || (replayed === true && !isReplayed)) {
      this.#ended.add(partition);
      return;
    }
    this.#before.set(partition, offset + 1n);
    this.letters++;
    if (!isReplayed) this.pending++;
  }

  /** By partition, the offset before which all goes. */
  before(bounds: ReadonlyMap<number, LogBounds>): ReadonlyMap<number, bigint> {
    if (this.#flags.all !== true) return this.#before;
    // Also what holds no letters any more, such as markers.
    const { partition = [] } = this.#flags;
    const meant = [...bounds].filter(
      ([one, { low, end }]) => low < end && (partition.length === 0 || partition.includes(one)),
    );
    return new Map(meant.map(([one, { end }]) => [one, end]));
  }
}

function refused(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
