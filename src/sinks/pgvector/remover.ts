/**
 * Deletions: what is there is read, `planRemoval` decides, rows go and tombstones stay, all in one transaction.
 *
 * It holds the collection's lock alone. A write that began before is over by then, and one that comes later sees the
 * tombstones: without the lock, the two would not see each other and both succeed.
 */
import type { Deletion } from '../../records/chunk.ts';
import { planRemoval } from '../plan.ts';
import type { RowOutcome } from '../sink.ts';
import { type Mark, Tombstones } from '../tombstones.ts';
import { int4Array, int8Array, textArray } from './binary.ts';
import type { PgConnection, Query } from './connection.ts';
import { escapeText, unescapeText } from './escape.ts';
import { rowToKey, sourceOf } from './rows.ts';
import type { Statements } from './statements.ts';

/** Expired tombstones that one call clears away at most. */
const FORGET_AT_MOST = 1_000;

export type RemoveTarget = {
  readonly connection: PgConnection;
  readonly statements: Statements;
  readonly retentionMs: number;
};

export function removeRows(
  deletions: readonly Deletion[],
  { connection, statements, retentionMs }: RemoveTarget,
  nowMs: number,
): Promise<readonly RowOutcome[]> {
  const idsOf = (scope: Deletion['scope']) => textArray(unique(deletions.filter((one) => one.scope === scope)));
  return connection.session('exclusive', undefined, async (query) => {
    const known = new Tombstones(retentionMs);
    for (const row of await query(statements.marks, [textArray(unique(deletions)), String(nowMs - retentionMs)])) {
      known.record({
        scope: row.scope as Mark['scope'],
        id: unescapeText(row.id as string),
        source: sourceOf(row),
        deletedAtMs: Number(row.deleted_at_ms),
      });
    }
    const stored = (await query(statements.keysNamed, [idsOf('chunk'), idsOf('document')])).map(rowToKey);
    const plan = planRemoval(deletions, stored, (deletion) => known.repeats(deletion, nowMs));
    if (plan.chunkIds.length > 0) await query(statements.removeRows, [textArray(plan.chunkIds.map(escapeText))]);
    if (plan.marks.length > 0) await mark(query, statements, plan.marks, nowMs);
    await query(statements.forget, [String(nowMs - retentionMs), FORGET_AT_MOST]);
    return plan.outcomes;
  });
}

async function mark(query: Query, statements: Statements, marks: readonly Mark[], nowMs: number): Promise<void> {
  await query(statements.mark, [
    textArray(marks.map(({ scope }) => scope)),
    textArray(marks.map(({ id }) => escapeText(id))),
    textArray(marks.map(({ source }) => source.topic)),
    int4Array(marks.map(({ source }) => source.partition)),
    int8Array(marks.map(({ source }) => source.offset)),
    String(nowMs),
  ]);
}

function unique(deletions: readonly Deletion[]): string[] {
  return [...new Set(deletions.map(({ id }) => escapeText(id)))];
}
