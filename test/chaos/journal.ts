/**
 * Who is to blame for texts that were embedded more than once, from the engine's own journal. Pure but for the reading.
 *
 * A repetition is put down to a worker that was killed between the two embeddings, else to a fault that moved partitions
 * around that time, else to calls that failed. With overlapping faults that is a guess, and never in favour of the worker.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Effect, effectOf, type Fault, SESSION_TIMEOUT_MS } from './plan.ts';

export type FaultSpan = { readonly fault: Fault; readonly fromMs: number; untilMs: number };
/** `rejoin`: a killed worker that is missed, or comes back, moves partitions once more. */
export type Blamed = Fault | 'rejoin' | 'unexplained';
export type Repeated = ReadonlyMap<Blamed, number>;

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
  const repeated = new Map<Blamed, number>();
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
  return [...repeated].reduce((sum, [blamed, count]) => sum + (effectOfBlamed(blamed) === effect ? count : 0), 0);
}

function effectOfBlamed(blamed: Blamed): Effect | undefined {
  if (blamed === 'unexplained') return undefined;
  return blamed === 'rejoin' ? 'rebalance' : effectOf(blamed);
}

/** What the engine still has of a dead worker's calls it executes after the death. */
const AFTER_DEATH_MS = 1_000;
/** Partitions move once more when the group has missed a member for a session, and members need a moment to join. */
const AFTER_SESSION_MS = SESSION_TIMEOUT_MS + 4_000;

function blame(spans: readonly FaultSpan[], beforeMs: number, atMs: number): Blamed {
  const going = (afterMs: number) =>
    spans.filter(({ fromMs, untilMs }) => fromMs <= atMs && untilMs + afterMs >= beforeMs).map(({ fault }) => fault);
  const deaths = spans.filter(
    ({ fault, fromMs }) => effectOf(fault) === 'kill' && fromMs <= atMs && fromMs + AFTER_DEATH_MS >= beforeMs,
  );
  const since = going(AFTER_SESSION_MS);
  return (
    deaths[0]?.fault ??
    since.find((fault) => effectOf(fault) === 'rebalance') ??
    going(AFTERMATH_MS).find((fault) => effectOf(fault) === 'call') ??
    (since.some((fault) => effectOf(fault) === 'kill') ? 'rejoin' : 'unexplained')
  );
}
