/**
 * Who is to blame for texts that were embedded more than once, from the engine's own journal. Pure but for the reading.
 *
 * A repetition is put down to a fault that was going on between the two embeddings: to a killed worker if there was one,
 * else to partitions that moved, else to a call that failed. With overlapping faults that is a guess, and never in favour
 * of the worker; with one fault at a time it is exact.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Effect } from './plan.ts';

export type FaultSpan = { readonly effect: Effect; readonly fromMs: number; untilMs: number };
export type Repeated = Readonly<Record<Effect | 'unexplained', number>>;

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
  const repeated = { kill: 0, rebalance: 0, call: 0, unexplained: 0 };
  const order = ['kill', 'rebalance', 'call'] as const;
  for (const [text, count] of copies) {
    const times = [...(embeddings.get(text) ?? [])].sort((a, b) => a - b);
    for (let again = count; again < times.length; again++) {
      const [before, at] = [times[again - 1]!, times[again]!];
      const going = spans.filter(({ fromMs, untilMs }) => fromMs <= at && untilMs + AFTERMATH_MS >= before);
      const blamed = order.find((effect) => going.some((span) => span.effect === effect));
      repeated[blamed ?? 'unexplained']++;
    }
  }
  return repeated;
}
