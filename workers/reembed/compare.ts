/** Whether rows of the old collection are in the new one, row by row. Pure but for the two collections it reads. */
import { isNewerRevision } from '../../src/sinks/revision.ts';
import type { Sink, StoredRow } from '../../src/sinks/sink.ts';
import { isSameRevision } from './copy.ts';

export type Comparison = {
  readonly compared: number;
  readonly same: number;
  /** The new collection has a later revision than the old one, or an earlier. */
  readonly newer: number;
  readonly older: number;
  /** Not there or earlier, because the record is still to be read from the topic. */
  readonly pending: number;
  readonly withoutText: number;
  readonly missing: number;
  /** Written by another model than the collection says. */
  readonly foreign: number;
};

type Kind = Exclude<keyof Comparison, 'compared'>;

/** Committed offsets of the new collection's group, by partition; empty where no topic follows. */
export type Committed = ReadonlyMap<number, bigint>;

export const nothingCompared: Comparison = {
  ...{ compared: 0, same: 0, newer: 0, older: 0, pending: 0, withoutText: 0, missing: 0, foreign: 0 },
};

export function kindOf(
  old: StoredRow,
  there: StoredRow | undefined,
  fingerprint: string,
  topic: string,
  committed: Committed,
): Kind {
  const next = old.source.topic === topic ? committed.get(old.source.partition) : undefined;
  const isPending = next !== undefined && old.source.offset >= next;
  if (there === undefined) {
    if (isPending) return 'pending';
    return old.text === undefined ? 'withoutText' : 'missing';
  }
  if (there.fingerprint !== fingerprint) return 'foreign';
  if (isSameRevision(old, there)) return 'same';
  if (isNewerRevision(there, old)) return 'newer';
  return isPending ? 'pending' : 'older';
}

export type CompareOptions = {
  readonly from: Sink;
  readonly to: Sink;
  readonly fingerprint: string;
  readonly topic: string;
  readonly committed: Committed;
  /** Rows at most; undefined for all. */
  readonly sample: number | undefined;
};

const PAGE_ROWS = 500;

export async function compare(options: CompareOptions, signal: AbortSignal): Promise<Comparison> {
  const { from, to, fingerprint, topic, committed, sample = Number.POSITIVE_INFINITY } = options;
  const counts: { -readonly [K in keyof Comparison]: number } = { ...nothingCompared };
  let after: string | undefined;
  do {
    signal.throwIfAborted();
    const page = (await from.scan?.(after, Math.min(PAGE_ROWS, sample), signal)) ?? { rows: [], next: undefined };
    const rows = page.rows.slice(0, sample - counts.compared);
    const ids = rows.map(({ chunkId }) => chunkId);
    const there = new Map((await to.fetch(ids, signal)).map((row) => [row.chunkId, row]));
    for (const row of rows) counts[kindOf(row, there.get(row.chunkId), fingerprint, topic, committed)] += 1;
    counts.compared += rows.length;
    after = page.next;
  } while (after !== undefined && counts.compared < sample);
  return counts;
}
