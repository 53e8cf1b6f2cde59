/** Which offsets a reset sets, and what that means: records that are read again, records that are never read. Pure. */
import { ServingError } from '../../src/errors.ts';
import type { Position } from './positions.ts';

export type Target =
  | { readonly kind: 'earliest' }
  | { readonly kind: 'latest' }
  | { readonly kind: 'offset'; readonly offset: bigint }
  | { readonly kind: 'time'; readonly atMs: number };

export type Move = {
  readonly partition: number;
  /** Undefined while the group has committed nothing: it would begin at the oldest record. */
  readonly from: bigint | undefined;
  readonly to: bigint;
  /** Offsets that are read once more, markers and gaps included. */
  readonly again: bigint;
  /** Offsets that nobody reads any more. */
  readonly skipped: bigint;
};

/** @param atTime where each partition stands at the target's time; empty for other targets */
export function planReset(
  positions: readonly Position[],
  target: Target,
  partitions: readonly number[],
  atTime: ReadonlyMap<number, bigint>,
): readonly Move[] {
  const unknown = partitions.find((one) => !positions.some(({ partition }) => partition === one));
  if (unknown !== undefined) {
    throw argument(`--partition ${unknown}: the topic has partitions 0 to ${positions.length - 1}`);
  }
  if (target.kind === 'offset' && partitions.length !== 1) {
    throw argument('--to-offset counts in one partition: name it with --partition');
  }
  const meant = positions.filter(({ partition }) => partitions.length === 0 || partitions.includes(partition));
  return meant.map((position) => move(position, offsetOf(position, target, atTime)));
}

function offsetOf({ partition, low, end }: Position, target: Target, atTime: ReadonlyMap<number, bigint>): bigint {
  switch (target.kind) {
    case 'earliest':
      return low;
    case 'latest':
      return end;
    case 'time':
      return atTime.get(partition) ?? end;
    case 'offset':
      if (target.offset >= low && target.offset <= end) return target.offset;
      throw argument(`--to-offset ${target.offset}: partition ${partition} holds ${low} to ${end}`);
  }
}

function move({ partition, low, committed }: Position, to: bigint): Move {
  const from = committed === undefined || committed < low ? low : committed;
  return {
    partition,
    from: committed,
    to,
    again: from > to ? from - to : 0n,
    skipped: to > from ? to - from : 0n,
  };
}

export function sumOf(moves: readonly Move[], what: 'again' | 'skipped'): bigint {
  return moves.reduce((sum, one) => sum + one[what], 0n);
}

function argument(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
