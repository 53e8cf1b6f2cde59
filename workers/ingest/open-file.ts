/**
 * One input on its way: which of its entries are done, in flight, rejected. The twin of a partition.
 *
 * Its topic holds the identity of the file as well as its name: positions say which of two entries is newer only within one
 * state of a file, and an edited file must be able to replace what it said before.
 */
import { createHash } from 'node:crypto';
import type { DeadLetter } from '../../src/kafka/dead-letter.ts';
import type { OffsetLedger } from '../../src/offsets/ledger.ts';
import type { RawMessage } from '../../src/records/chunk.ts';
import type { Outcome, Settle } from '../../src/records/outcome.ts';
import type { Input } from '../files/inputs.ts';
import { type FileMark, ledgerOf, markOf } from './checkpoint.ts';
import type { Entry } from './entries.ts';
import type { Reject } from './rejects.ts';
import { emptyTally, type Tally } from './tally.ts';

type Load = { chunks: number; readonly place: number; readonly letters: DeadLetter[] };

export class OpenFile {
  readonly input: Input;
  readonly topic: string;
  readonly ledger: OffsetLedger;
  readonly tally: Tally;
  /** The reader has come to its end. */
  isRead: boolean;
  /** Why it could not be read to its end. */
  problem: string | undefined;
  readonly identity: string;
  readonly #reading: string;
  readonly #loads = new Map<bigint, Load>();

  constructor(input: Input, identity: string, reading: string, mark: FileMark | undefined) {
    this.input = input;
    this.topic = topicOf(input.name, identity);
    this.identity = identity;
    this.#reading = reading;
    this.ledger = ledgerOf(mark);
    this.tally = mark === undefined ? emptyTally() : structuredClone(mark.tally);
    this.isRead = mark?.isFinished ?? false;
  }

  get isFinished(): boolean {
    return this.isRead && this.ledger.open === 0;
  }

  get mark(): FileMark {
    const { isFinished, tally, input } = this;
    const file = { path: input.path, identity: this.identity, reading: this.#reading, isFinished };
    return markOf({ ...file, tally: structuredClone(tally) }, this.ledger);
  }

  rawOf({ position, value }: Entry, nowMs: number): RawMessage {
    const source = { topic: this.topic, partition: 0, offset: BigInt(position) };
    return { source, key: null, value: value ?? null, headers: [], timestampMs: nowMs };
  }

  /** Takes an entry in; what it returns ends it. */
  take(entry: Entry, onEnd: (chunks: number, rejects: readonly Reject[]) => void): { settle: Settle; load: Load } {
    const offset = BigInt(entry.position);
    const load: Load = { chunks: 0, place: entry.place, letters: [] };
    this.ledger.track(offset);
    this.#loads.set(offset, load);
    const settle = (outcome: Outcome): void => {
      if (!this.#loads.delete(offset)) return;
      const rejects = outcome.kind === 'abandoned' ? [] : this.#count(outcome, load);
      if (outcome.kind !== 'abandoned') this.ledger.markDone(offset);
      onEnd(load.chunks, rejects);
    };
    return { settle, load };
  }

  /** Kept until the entry has ended: of a message with many chunks some may be rejected while others are under way. */
  addLetter(letter: DeadLetter): void {
    this.#loads.get(letter.raw.source.offset)?.letters.push(letter);
  }

  #count(outcome: Outcome, { chunks, place, letters }: Load): readonly Reject[] {
    const { tally } = this;
    tally.entries++;
    if (outcome.kind === 'superseded') tally.superseded += chunks;
    else tally.stored += chunks - letters.length;
    return letters.map(({ error, index, stage }) => {
      tally.rejected[error.code] = (tally.rejected[error.code] ?? 0) + 1;
      const where = { file: this.input.name, line: place, ...(index === undefined ? {} : { chunk: index }) };
      return { ...where, stage, code: error.code, reason: error.message };
    });
  }
}

function topicOf(name: string, identity: string): string {
  return `file:${name}@${createHash('sha256').update(identity).digest('hex').slice(0, 12)}`;
}
