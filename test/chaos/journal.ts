/**
 * Who is to blame for texts that were embedded more than once, from the engine's own journal. Pure but for the reading.
 *
 * A repetition is put down to a fault that was going on between the two embeddings: to a killed worker if there was one,
 * else to partitions that moved, else to a call that failed. With overlapping faults that is a guess, and never in favour
 * of the worker; with one fault at a time it is exact.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Effect, effectOf, type Fault } from './plan.ts';

export type FaultSpan = { readonly fault: Fault; readonly fromMs: number; untilMs: number };
/** Repetitions by the fault that is blamed. */
export type Repeated = ReadonlyMap<Fault | 'unexplained', number>;

/** Milliseconds of each embedding, by SHA-256 of the text. */
export type Embeddings = ReadonlyMap<string, readonly number[]>;

export function readJournal(path: string): Embeddings {
  const embeddings = new Map<string, number[]>();
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [at, text] = line.split(' ');
    // A killed engine may leave half a line.
    if (at === undefined || text?.length !== 64) continue;
    const times = embeddings.get(text);
    if (times === undefined) embeddings.set(text, [Number(at)]);
    else times.push(Number(at));
  }
  return embeddings;
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Calls that a fault held up are executed after it, beside those that have taken their place. */
const AFTERMATH_MS = 4_000;

/** `copies`: how often each text stands in the log, and so may be embedded for good reason; by its SHA-256. */
export function repeatedBy(
  embeddings: Embeddings,
  copies: ReadonlyMap<string, number>,
  spans: readonly FaultSpan[],
): Repeated {
  const repeated = new Map<Fault | 'unexplained', number>();
  for (const [text, count] of copies) {
    const times = [...(embeddings.get(text) ?? [])].sort((a, b) => a - b);
    for (let again = count; again < times.length; again++) {
      const blamed = blame(spans, times[again - 1]!, times[again]!);
      repeated.set(blamed, (repeated.get(blamed) ?? 0) + 1);
    }
  }
  return repeated;
}

export function countOf(repeated: Repeated, effect: Effect): number {
  return [...repeated].reduce(
    (sum, [fault, count]) => sum + (fault !== 'unexplained' && effectOf(fault) === effect ? count : 0),
    0,
  );
}

const GRAVEST_FIRST = ['kill', 'rebalance', 'call'] as const;

function blame(spans: readonly FaultSpan[], beforeMs: number, atMs: number): Fault | 'unexplained' {
  const going = spans.filter(({ fromMs, untilMs }) => fromMs <= atMs && untilMs + AFTERMATH_MS >= beforeMs);
  const worst = GRAVEST_FIRST.find((effect) => going.some(({ fault }) => effectOf(fault) === effect));
  return going.find(({ fault }) => effectOf(fault) === worst)?.fault ?? 'unexplained';
}
