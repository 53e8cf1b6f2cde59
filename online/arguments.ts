/** Arguments as a JavaScript caller may give them: refused by name and shape, never quoted. */
import { ServingError } from '../src/errors.ts';
import type { Candidate } from './rrf.ts';

export function checkQuery(query: unknown, name: string): void {
  if (typeof query !== 'string') throw invalid(`${name} must be a string, not ${shapeOf(query)}`);
}

/** For embedding: a blank text has no meaning. */
export function checkQueries(queries: readonly unknown[]): void {
  for (let index = 0; index < queries.length; index++) {
    const query = queries[index];
    if (typeof query === 'string' && query.trim() !== '') continue;
    const name = `query ${index + 1} of ${queries.length}`;
    checkQuery(query, name);
    throw invalid(`${name} is blank: it has no meaning`);
  }
}

export function checkCandidates(candidates: readonly Candidate[]): void {
  if (!Array.isArray(candidates)) throw invalid(`candidates must be an array, not ${shapeOf(candidates)}`);
  for (let index = 0; index < candidates.length; index++) {
    const candidate = candidates[index] as Partial<Candidate> | undefined;
    if (typeof candidate?.id === 'string' && typeof candidate.text === 'string') continue;
    throw invalid(`candidate ${index} must have a string id and a string text`);
  }
}

/** How many results to give. */
export function checkTopK(topK: number | undefined, candidates: number): number {
  if (topK === undefined) return candidates;
  if (!Number.isInteger(topK) || topK < 0) throw invalid(`topK must be a whole number ≥ 0, not ${shapeOf(topK)}`);
  return Math.min(topK, candidates);
}

function shapeOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
}

function invalid(message: string): ServingError {
  return new ServingError('ARGUMENT_INVALID', message);
}
