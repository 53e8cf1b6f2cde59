/**
 * What a store with one writer must do for a call: decided before anything is written, by `isNewerRevision`. Pure.
 *
 * Rows are taken in the order of the call, so a chunk id that comes twice ends as if the rows had been written one by
 * one; only the last winner is written at all, because a multi-row upsert must not hold a key twice.
 */
import type { Deletion } from '../records/chunk.ts';
import { isNewerRevision, isSamePartition, type Revision } from './revision.ts';
import type { RowOutcome, SinkRow } from './sink.ts';
import type { Mark } from './tombstones.ts';

export type WritePlan = {
  /** One row a chunk id: what the store must hold afterwards. */
  readonly winners: readonly SinkRow[];
  /** True when a winner takes the place of a stored row. */
  readonly replaces: boolean;
  readonly outcomes: readonly RowOutcome[];
};

/** `stored`: revision by chunk id of those rows that the store holds. `isDeleted`: a tombstone keeps this row out. */
export function planWrite(
  rows: readonly SinkRow[],
  stored: ReadonlyMap<string, Revision>,
  isDeleted: (row: SinkRow) => boolean,
): WritePlan {
  const winnerAt = new Map<string, number>();
  const outcomes: RowOutcome[] = rows.map((row, index) => {
    if (isDeleted(row)) return { kind: 'superseded' };
    const earlier = winnerAt.get(row.chunkId);
    const current = earlier === undefined ? stored.get(row.chunkId) : rows[earlier];
    if (current !== undefined && !isNewerRevision(row, current)) return { kind: 'superseded' };
    winnerAt.set(row.chunkId, index);
    return { kind: 'stored' };
  });
  for (const [index, row] of rows.entries()) {
    if (outcomes[index]?.kind === 'stored' && winnerAt.get(row.chunkId) !== index)
      outcomes[index] = { kind: 'superseded' };
  }
  return {
    winners: [...winnerAt.values()].map((index) => rows[index]!),
    replaces: [...winnerAt.keys()].some((id) => stored.has(id)),
    outcomes,
  };
}

export type StoredKey = Revision & { readonly chunkId: string; readonly documentId: string };

export type RemovalPlan = {
  /** Rows that must go. */
  readonly chunkIds: readonly string[];
  /** What must be remembered once they are gone. */
  readonly marks: readonly Mark[];
  readonly outcomes: readonly RowOutcome[];
};

/**
 * A tombstone is a revision without a version: it leaves alone what was written by a later message of its partition, so
 * that reading the log again cannot delete what came after. `superseded` when it found rows and may delete none.
 *
 * Rows of another partition it deletes, because it comes later, but only the first time (`isRepeated`): what such a row
 * says now was written after the deletion. A chunk's deletion is keyed by the chunk and often in another partition than
 * its document, so this is what keeps a redelivered one from deleting a chunk that was made anew.
 */
export function planRemoval(
  deletions: readonly Deletion[],
  stored: readonly StoredKey[],
  isRepeated: (deletion: Deletion) => boolean,
): RemovalPlan {
  const byId = { chunk: groupBy(stored, 'chunkId'), document: groupBy(stored, 'documentId') };
  const doomed = new Set<string>();
  const marks: Mark[] = [];
  const outcomes = deletions.map((deletion): RowOutcome => {
    const named = byId[deletion.scope].get(deletion.id) ?? [];
    const repeated = isRepeated(deletion);
    const older = named.filter(
      (key) =>
        isNewerRevision({ version: undefined, source: deletion.source }, key) &&
        (!repeated || isSamePartition(deletion.source, key.source)),
    );
    if (!repeated) marks.push(deletion);
    for (const key of older) {
      doomed.add(key.chunkId);
      // The deletion's own mark says nothing about the partition of such a row.
      if (!isSamePartition(deletion.source, key.source))
        marks.push({ scope: 'row', id: key.chunkId, source: key.source });
    }
    return { kind: named.length > 0 && older.length === 0 ? 'superseded' : 'stored' };
  });
  return { chunkIds: [...doomed], marks, outcomes };
}

function groupBy(keys: readonly StoredKey[], field: 'chunkId' | 'documentId'): Map<string, StoredKey[]> {
  const groups = new Map<string, StoredKey[]>();
  for (const key of keys) {
    const group = groups.get(key[field]);
    if (group === undefined) groups.set(key[field], [key]);
    else group.push(key);
  }
  return groups;
}
