/** What has become of the entries of a file. Counted when an entry has ended, together with the ledger, so that both tell the same. */
import type { ErrorCode } from '../../src/errors.ts';

export type Tally = {
  /** Lines, rows or chunks of a document. */
  entries: number;
  /** Chunks that the store holds. */
  stored: number;
  /** Chunks whose place a later one of the same id took while they waited. */
  superseded: number;
  rejected: Partial<Record<ErrorCode, number>>;
};

export function emptyTally(): Tally {
  return { entries: 0, stored: 0, superseded: 0, rejected: {} };
}

export function sumOf(tallies: readonly Tally[]): Tally {
  const sum = emptyTally();
  for (const { entries, stored, superseded, rejected } of tallies) {
    sum.entries += entries;
    sum.stored += stored;
    sum.superseded += superseded;
    for (const [code, count] of Object.entries(rejected) as [ErrorCode, number][]) {
      sum.rejected[code] = (sum.rejected[code] ?? 0) + count;
    }
  }
  return sum;
}

export function rejectedOf({ rejected }: Tally): number {
  return Object.values(rejected).reduce((sum, count) => sum + count, 0);
}
