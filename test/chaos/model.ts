/**
 * The checker's own model of what was produced: each chunk's history in the order of its partition's offsets, as the
 * broker acknowledged them, and what the store must hold of it. Pure, and none of the product's code.
 */
import { sha256 } from './journal.ts';
import type { ChaosMessage, Operation, Write } from './stream.ts';

type Entry = { readonly offset: bigint; readonly operation: Operation };
type History = { readonly partition: number; readonly documentId: string; entries: Entry[] };

export type StoredChunk = {
  readonly documentId: string;
  readonly version: number | undefined;
  readonly text: string;
  readonly vector: Uint8Array;
};

export const faultKinds = ['lost', 'stale', 'resurrected', 'wrongVectors'] as const;
export type FaultKind = (typeof faultKinds)[number];
/** `revision` tells one fault of a chunk from a later one of the same chunk. */
export type Verdict = {
  readonly kind: FaultKind;
  readonly chunkId: string;
  readonly revision: string;
  readonly says: string;
};

export class ProducedModel {
  readonly #chunks = new Map<string, History>();
  readonly #chunksOf = new Map<string, Set<string>>();
  /** On their way to the broker: they may or may not be in its log. */
  #sending: readonly ChaosMessage[] = [];
  /** Copies of each text in the log, by its SHA-256: more than one when the broker took a request whose answer was lost. */
  readonly copies = new Map<string, number>();
  readonly #next: bigint[];
  readonly #isVectorOf: (vector: Uint8Array, text: string) => boolean;
  /** What was found right need not be computed again while it stays. */
  readonly #verified = new Map<string, StoredChunk>();

  constructor(partitions: number, isVectorOf: (vector: Uint8Array, text: string) => boolean) {
    this.#next = Array.from({ length: partitions }, () => 0n);
    this.#isVectorOf = isVectorOf;
  }

  get chunkIds(): string[] {
    return [...this.#chunks.keys()];
  }

  get revisions(): number {
    return this.copies.size;
  }

  /** End of each partition, as acknowledged. */
  get ends(): readonly bigint[] {
    return this.#next;
  }

  sending(messages: readonly ChaosMessage[]): void {
    this.#sending = messages;
    for (const { operations } of messages) for (const operation of operations) this.#know(operation, messages);
  }

  /** All that was being sent is in the log; `baseOffsets` by partition, its messages of a partition in their order. */
  acknowledged(baseOffsets: ReadonlyMap<number, bigint>): void {
    for (const [partition, base] of baseOffsets) {
      const messages = this.#sending.filter((message) => message.partition === partition);
      // An attempt whose answer was lost was written too, whole and right before.
      const copies = 1 + Number((base - this.#next[partition]!) / BigInt(messages.length));
      for (const [index, message] of messages.entries()) this.#append(base + BigInt(index), message, copies);
      this.#next[partition] = base + BigInt(messages.length);
    }
    this.#sending = [];
  }

  /**
   * What is wrong with what the store holds of one chunk. `committed` by partition, read before the store was: all before
   * it must be there. Where more is under way for this chunk, only what can never be right is told.
   */
  judge(chunkId: string, row: StoredChunk | undefined, committed: readonly bigint[]): Verdict[] {
    const history = this.#chunks.get(chunkId);
    if (history === undefined)
      return row === undefined ? [] : [{ ...about('stale', chunkId, row.text), says: 'was never sent' }];
    const underWay = this.#sending.flatMap(({ operations }) =>
      operations.filter((one) => concerns(one, chunkId, history)),
    );
    const settled = history.entries.filter(({ offset }) => offset < committed[history.partition]!);
    const verdicts: Verdict[] = [];
    if (row !== undefined && !this.#hasOwnVector(chunkId, row)) {
      verdicts.push({ ...about('wrongVectors', chunkId, row.text), says: 'has the vector of another text' });
    }
    if (underWay.length > 0 || settled.length < history.entries.length) {
      const writes = [...history.entries.map(({ operation }) => operation), ...underWay].filter(isWrite);
      if (row !== undefined && !writes.some((write) => isRowOf(row, write))) {
        verdicts.push({ ...about('stale', chunkId, row.text), says: 'is stored as it was never sent' });
      }
      return verdicts;
    }
    const expected = newest(history.entries);
    const last = `offset ${history.entries.at(-1)?.offset} of partition ${history.partition}`;
    if (expected === undefined && row !== undefined) {
      verdicts.push({ ...about('resurrected', chunkId, row.text), says: `is stored, though deleted by ${last}` });
    } else if (expected !== undefined && row === undefined) {
      verdicts.push({ ...about('lost', chunkId, expected.text), says: `is not stored; written by ${last}` });
    } else if (expected !== undefined && row !== undefined && !isRowOf(row, expected)) {
      const says = `holds "${start(row.text)}" (version ${row.version}), not "${start(expected.text)}" of ${last}`;
      verdicts.push({ ...about('stale', chunkId, expected.text), says });
    }
    return verdicts;
  }

  #hasOwnVector(chunkId: string, row: StoredChunk): boolean {
    const before = this.#verified.get(chunkId);
    if (before?.text === row.text && Buffer.compare(before.vector, row.vector) === 0) return true;
    if (!this.#isVectorOf(row.vector, row.text)) return false;
    this.#verified.set(chunkId, row);
    return true;
  }

  /**
   * Forgets what can matter no more: of every chunk but these, all but what is stored now. To be called when everything
   * has been judged and nothing is under way; of a chunk that is not as it must be, all that it ever was may show again.
   */
  compact(except: ReadonlySet<string>): void {
    for (const [chunkId, history] of this.#chunks) {
      if (except.has(chunkId)) continue;
      const kept = newest(history.entries);
      const entry = history.entries.findLast(({ operation }) => kept === undefined || operation === kept);
      history.entries = entry === undefined ? [] : [entry];
    }
  }

  #know(operation: Operation, messages: readonly ChaosMessage[]): void {
    if (operation.kind === 'delete document' || this.#chunks.has(operation.chunkId)) return;
    const { chunkId, documentId } = operation;
    const partition = messages.find(({ operations }) => operations.includes(operation))!.partition;
    this.#chunks.set(chunkId, { partition, documentId, entries: [] });
    const siblings = this.#chunksOf.get(documentId) ?? new Set();
    this.#chunksOf.set(documentId, siblings.add(chunkId));
  }

  #append(offset: bigint, { operations }: ChaosMessage, copies: number): void {
    for (const operation of operations) {
      if (operation.kind === 'write') this.copies.set(sha256(operation.text), copies);
      const ids = operation.kind === 'delete document' ? this.#chunksOf.get(operation.documentId) : [operation.chunkId];
      for (const id of ids ?? []) this.#chunks.get(id)!.entries.push({ offset, operation });
    }
  }
}

/** What a chunk's history leaves: of two writes with a version the larger one, else the later; a deletion ends it all. */
function newest(entries: readonly Entry[]): Write | undefined {
  let kept: Write | undefined;
  for (const { operation } of entries) {
    if (operation.kind !== 'write') kept = undefined;
    else if (kept?.version === undefined || operation.version === undefined || operation.version >= kept.version) {
      kept = operation;
    }
  }
  return kept;
}

const isWrite = (operation: Operation): operation is Write => operation.kind === 'write';

function concerns(operation: Operation, chunkId: string, { documentId }: History): boolean {
  return operation.kind === 'delete document' ? operation.documentId === documentId : operation.chunkId === chunkId;
}

function isRowOf(row: StoredChunk, { documentId, version, text }: Write): boolean {
  return row.documentId === documentId && row.version === version && row.text === text;
}

function about(kind: FaultKind, chunkId: string, text: string) {
  return { kind, chunkId, revision: start(text) };
}

const start = (text: string) => text.slice(0, 48);
