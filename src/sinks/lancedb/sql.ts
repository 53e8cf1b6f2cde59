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
