/** Which dead letters or retries are meant; pure. Several values of one option are alternatives, several options all hold. */

export type OffsetSpan = {
  readonly from: bigint;
  /** The last one meant; undefined is without end. */
  readonly to: bigint | undefined;
};

export type LetterFilter = {
  readonly codes: readonly string[];
  /** From here on, and until just before there; milliseconds since the Unix epoch. */
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly chunkIds: readonly string[];
  readonly documentIds: readonly string[];
  readonly partitions: readonly number[];
  readonly offsets: OffsetSpan | undefined;
};

export type LetterFacts = {
  readonly code: string | undefined;
  readonly atMs: number;
  readonly chunkId: string | undefined;
  readonly documentId: string | undefined;
  readonly partition: number;
  readonly offset: bigint;
};

export function isMeant(filter: LetterFilter, facts: LetterFacts): boolean {
  const { codes, sinceMs, untilMs, chunkIds, documentIds, partitions, offsets } = filter;
  return (
    isOneOf(codes, facts.code) &&
    (sinceMs === undefined || facts.atMs >= sinceMs) &&
    (untilMs === undefined || facts.atMs < untilMs) &&
    isOneOf(chunkIds, facts.chunkId) &&
    isOneOf(documentIds, facts.documentId) &&
    isOneOf(partitions, facts.partition) &&
    (offsets === undefined || isWithin(offsets, facts.offset))
  );
}

type Bounds = { readonly low: bigint; readonly end: bigint };

/** What has to be read of a topic for it: `from` up to, without, `to`. Partitions of which nothing is meant are left out. */
export function rangesOf(
  { partitions, offsets }: LetterFilter,
  bounds: ReadonlyMap<number, Bounds>,
): ReadonlyMap<number, { readonly from: bigint; readonly to: bigint }> {
  const ranges = new Map<number, { from: bigint; to: bigint }>();
  for (const [partition, { low, end }] of bounds) {
    if (!isOneOf(partitions, partition)) continue;
    const from = offsets !== undefined && offsets.from > low ? offsets.from : low;
    const to = offsets?.to !== undefined && offsets.to + 1n < end ? offsets.to + 1n : end;
    if (from < to) ranges.set(partition, { from, to });
  }
  return ranges;
}

/** `7`, `7..9`, `7..` or `..9`, both ends included; undefined for what is no such thing. */
export function parseSpan(text: string): OffsetSpan | undefined {
  const found = /^(\d{1,18})?(\.\.)?(\d{1,18})?$/.exec(text);
  if (found === null) return undefined;
  const [, first, dots, last] = found;
  if (dots === undefined) return first === undefined ? undefined : { from: BigInt(first), to: BigInt(first) };
  if (first === undefined && last === undefined) return undefined;
  const from = BigInt(first ?? '0');
  const to = last === undefined ? undefined : BigInt(last);
  return to !== undefined && to < from ? undefined : { from, to };
}

function isOneOf<T>(meant: readonly T[], value: T | undefined): boolean {
  return meant.length === 0 || (value !== undefined && meant.includes(value));
}

function isWithin({ from, to }: OffsetSpan, offset: bigint): boolean {
  return offset >= from && (to === undefined || offset <= to);
}
