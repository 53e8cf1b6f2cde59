/** How far a row is from the reference. Pure. A row is a vector, or a score as a vector of one. */
type Row = ArrayLike<number>;

export function cosineOf(a: Row, b: Row): number {
  let dot = 0;
  for (let i = 0; i < a.length; i++) dot += a[i]! * b[i]!;
  const lengths = lengthOf(a) * lengthOf(b);
  // Two zero vectors are the same; one alone is not.
  return lengths === 0 ? Number(lengthOf(a) === lengthOf(b)) : dot / lengths;
}

export function lengthOf(vector: Row): number {
  let squares = 0;
  for (let i = 0; i < vector.length; i++) squares += vector[i]! ** 2;
  return Math.sqrt(squares);
}

/** Part by which the length of `given` is off. */
export function lengthErrorOf(wanted: Row, given: Row): number {
  return Math.abs(lengthOf(given) - lengthOf(wanted)) / Math.max(lengthOf(wanted), 1e-12);
}

/** Difference of two scores, relative where the wanted one is larger than 1. */
export function scoreErrorOf(wanted: number, given: number): number {
  return Math.abs(given - wanted) / Math.max(1, Math.abs(wanted));
}

export function allFinite(row: Row): boolean {
  for (let i = 0; i < row.length; i++) if (!Number.isFinite(row[i])) return false;
  return true;
}
