/**
 * Whether an exported model says what the unmodified one says. Pure.
 *
 * Vectors are compared by cosine and by length, scores by difference: a cosine of single numbers says nothing.
 */
import type { Bounds } from '../../../src/golden/bounds.ts';
import { cosineOf, lengthErrorOf, scoreErrorOf } from '../../../src/golden/measures.ts';

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
  const lengthError = Math.max(...pairs.map(([a, b]) => lengthErrorOf(a, b)));
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
  const errors = reference.map(([wanted = 0], index) => scoreErrorOf(wanted, candidate[index]![0]!));
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
