/**
 * Whether an exported model says what the unmodified one says. Pure.
 *
 * Vectors are compared by cosine and by length, scores by difference: a cosine of single numbers says nothing.
 */
export type Bounds = {
  readonly minCosine: number;
  /** Part by which the length of a vector may be off. */
  readonly maxLengthError: number;
  /** Of a score, relative where it is larger than 1. */
  readonly maxScoreError: number;
};

export const FP16_BOUNDS: Bounds = { minCosine: 0.9995, maxLengthError: 0.01, maxScoreError: 0.01 };
export const FP32_BOUNDS: Bounds = { minCosine: 0.99999, maxLengthError: 0.0001, maxScoreError: 0.0001 };

export type CaseResult = {
  readonly name: string;
  readonly rows: number;
  /** Worst row. */
  readonly cosine?: number;
  readonly lengthError?: number;
  readonly scoreError?: number;
  /** What is wrong; empty when nothing is. */
  readonly faults: readonly string[];
};

export function compareVectors(
  name: string,
  reference: readonly (readonly number[])[],
  candidate: readonly (readonly number[])[],
  bounds: Bounds,
): CaseResult {
  const faults = finiteFaults(reference, candidate);
  if (faults.length > 0) return { name, rows: reference.length, faults };
  const pairs = reference.map((row, index) => [row, candidate[index]!] as const);
  const cosine = Math.min(...pairs.map(([a, b]) => cosineOf(a, b)));
  const lengthError = Math.max(...pairs.map(([a, b]) => Math.abs(length(b) - length(a)) / Math.max(length(a), 1e-12)));
  if (!(cosine >= bounds.minCosine)) faults.push(`cosine ${cosine.toFixed(6)} is below ${bounds.minCosine}`);
  if (!(lengthError <= bounds.maxLengthError)) {
    faults.push(`a length is off by ${(100 * lengthError).toFixed(3)} %, over ${100 * bounds.maxLengthError} %`);
  }
  return { name, rows: reference.length, cosine, lengthError, faults };
}

export function compareScores(
  name: string,
  reference: readonly (readonly number[])[],
  candidate: readonly (readonly number[])[],
  bounds: Bounds,
): CaseResult {
  const faults = finiteFaults(reference, candidate);
  if (faults.length > 0) return { name, rows: reference.length, faults };
  const errors = reference.map(([wanted = 0], index) => {
    return Math.abs(candidate[index]![0]! - wanted) / Math.max(1, Math.abs(wanted));
  });
  const scoreError = Math.max(...errors);
  if (!(scoreError <= bounds.maxScoreError)) {
    faults.push(`a score is off by ${scoreError.toFixed(6)}, over ${bounds.maxScoreError}`);
  }
  return { name, rows: reference.length, scoreError, faults };
}

function finiteFaults(reference: readonly (readonly number[])[], candidate: readonly (readonly number[])[]): string[] {
  const bad = (rows: readonly (readonly number[])[]) => rows.filter((row) => !row.every(Number.isFinite)).length;
  const faults: string[] = [];
  if (bad(reference) > 0) faults.push(`the unmodified model gives ${bad(reference)} rows that are not finite`);
  if (bad(candidate) > 0) faults.push(`${bad(candidate)} rows are not finite`);
  const shapes =
    reference.length === candidate.length && reference.every((row, i) => row.length === candidate[i]!.length);
  if (!shapes) faults.push(`the shape is [${candidate.length}, ${candidate[0]?.length ?? 0}]`);
  return faults;
}

function cosineOf(a: readonly number[], b: readonly number[]): number {
  const dot = a.reduce((sum, value, i) => sum + value * b[i]!, 0);
  const lengths = length(a) * length(b);
  // Two zero vectors are the same; one alone is not.
  return lengths === 0 ? Number(length(a) === length(b)) : dot / lengths;
}

function length(vector: readonly number[]): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
}
