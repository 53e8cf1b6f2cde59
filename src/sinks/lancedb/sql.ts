/** The little SQL that goes to LanceDB's filters. Ids are data from a topic: they only ever appear as quoted literals. */

/** Single quotes are the only character with a meaning inside a literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function isIn(column: string, values: readonly string[]): string {
  return `${column} IN (${values.map(literal).join(', ')})`;
}

export function* slices<T>(values: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < values.length; at += size) yield values.slice(at, at + size);
}

/**
 * `isNewerRevision` for a merge: true where the row that comes (`source`) may take the place of the row that is there
 * (`target`). LanceDB judges it against the table as it is at the commit, not as it was when we read. It takes no CASE.
 */
export const IS_NEWER_IN_MERGE =
  '(source.version IS NOT NULL AND target.version IS NOT NULL AND source.version > target.version) OR ' +
  '((source.version IS NULL OR target.version IS NULL OR source.version = target.version) AND ' +
  '(source.source_topic <> target.source_topic OR source.source_partition <> target.source_partition OR ' +
  'source.source_offset >= target.source_offset))';
