/** Outcomes of a call that names a chunk more than once. */
import type { RowOutcome, SinkRow } from './sink.ts';

/** Of rows with one id in a call only the last that went in is there afterwards. */
export function lastOfEachStored(rows: readonly SinkRow[], outcomes: readonly RowOutcome[]): RowOutcome[] {
  const last = new Map<string, number>();
  for (const [index, outcome] of outcomes.entries())
    if (outcome.kind === 'stored') last.set(rows[index]!.chunkId, index);
  return outcomes.map((outcome, index) =>
    outcome.kind === 'stored' && last.get(rows[index]!.chunkId) !== index ? { kind: 'superseded' } : outcome,
  );
}
