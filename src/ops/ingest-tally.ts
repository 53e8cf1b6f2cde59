/**
 * What an ingest worker has done, kept for /status: counts, a rate, the last dead letters, and fifteen minutes of history.
 * Time is an argument.
 *
 * The rate is counted in whole seconds that are over: the one that runs would make it fall at the start of each.
 */
import type { OutcomeKind } from '../records/outcome.ts';
import { historyPoints, type IngestStatus, lastDeadLetters } from './status-schema.ts';

export const rateSeconds = 10;

type Letter = { readonly code: string; readonly stage: string; readonly atMs: number };
type Point = { readonly atMs: number; readonly chunksPerSecond: number; readonly lag: number | null };

export class IngestTally {
  readonly #chunks: Record<OutcomeKind, number> = {
    persisted: 0,
    deleted: 0,
    superseded: 0,
    'handed-over': 0,
    'dead-lettered': 0,
    abandoned: 0,
  };
  readonly #codes = new Map<string, number>();
  readonly #letters: Letter[] = [];
  readonly #history: Point[] = [];
  /** Chunks stored in each second, by the second's number modulo the ring. */
  readonly #ring = Array.from({ length: rateSeconds + 1 }, () => ({ second: -1, count: 0 }));
  #transport: IngestStatus['transport'] = null;

  settled(outcome: OutcomeKind, nowMs: number): void {
    this.#chunks[outcome]++;
    if (outcome !== 'persisted') return;
    const second = Math.floor(nowMs / 1_000);
    const cell = this.#ring[second % this.#ring.length]!;
    if (cell.second !== second) Object.assign(cell, { second, count: 0 });
    cell.count++;
  }

  embedded(transport: NonNullable<IngestStatus['transport']>): void {
    this.#transport = transport;
  }

  deadLettered(code: string, stage: string, nowMs: number): void {
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
    this.#letters.unshift({ code, stage, atMs: nowMs });
    if (this.#letters.length > lastDeadLetters) this.#letters.pop();
  }

  chunksPerSecond(nowMs: number): number {
    const now = Math.floor(nowMs / 1_000);
    const whole = this.#ring.filter(({ second }) => second < now && second >= now - rateSeconds);
    return whole.reduce((sum, { count }) => sum + count, 0) / rateSeconds;
  }

  /** To be called every `historyStepSeconds`. */
  remember(lag: number | null, nowMs: number): void {
    this.#history.push({ atMs: nowMs, chunksPerSecond: this.chunksPerSecond(nowMs), lag });
    if (this.#history.length > historyPoints) this.#history.shift();
  }

  read(nowMs: number): Pick<IngestStatus, 'chunks' | 'chunksPerSecond' | 'transport' | 'deadLetters' | 'history'> {
    const byCode = Array.from(this.#codes, ([code, count]) => ({ code, count }));
    return {
      chunks: { ...this.#chunks },
      chunksPerSecond: this.chunksPerSecond(nowMs),
      transport: this.#transport,
      deadLetters: {
        total: byCode.reduce((sum, { count }) => sum + count, 0),
        byCode,
        last: this.#letters.map(({ code, stage, atMs }) => ({ code, stage, at: iso(atMs) })),
      },
      history: this.#history.map(({ atMs, ...point }) => ({ at: iso(atMs), ...point })),
    };
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
