/**
 * Rows that wait for the commit of the messages they were made of. Pure bookkeeping.
 *
 * A commit covers exactly what lies before its offset, in the order of the source: so what the topic gets of one partition is
 * what the partition holds, in its order, up to the last commit, and never a piece from beyond it. What is done beyond waits.
 */
import type { OutgoingMessage } from '../../kafka/producer.ts';
import { recordBytes } from '../../kafka/record-size.ts';
import type { Commit } from '../../offsets/commit-plan.ts';
import { type PartitionId, type PartitionKey, partitionKey } from '../../offsets/epochs.ts';
import type { SourcePosition } from '../../records/chunk.ts';

type Waiting = {
  readonly offset: bigint;
  readonly epoch: number;
  readonly messages: readonly OutgoingMessage[];
  readonly bytes: number;
};

export class WaitingRows {
  readonly #maxBytes: number;
  readonly #partitions = new Map<PartitionKey, Map<string, Waiting>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Once for each `name` of a message: a repeated call puts the new row in the place of the old one. */
  hold(source: SourcePosition, epoch: number, name: string, messages: readonly OutgoingMessage[]): void {
    const key = partitionKey(source);
    let rows = this.#partitions.get(key);
    if (rows === undefined) this.#partitions.set(key, (rows = new Map()));
    const id = `${source.offset} ${name}`;
    const before = rows.get(id);
    const bytes = messages.reduce((sum, message) => sum + recordBytes(message), 0);
    rows.set(id, { offset: source.offset, epoch, messages, bytes });
    this.#bytes += bytes - (before?.bytes ?? 0);
  }

  covered(commit: Commit): readonly OutgoingMessage[] {
    const rows = [...(this.#partitions.get(partitionKey(commit))?.values() ?? [])];
    return rows
      .filter(({ offset, epoch }) => offset < commit.offset && epoch === commit.epoch)
      .sort((a, b) => (a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0))
      .flatMap(({ messages }) => messages);
  }

  /** Rows of an earlier epoch are of a log that is no longer read. */
  written(commit: Commit): void {
    const rows = this.#partitions.get(partitionKey(commit));
    if (rows === undefined) return;
    for (const [id, { offset, epoch, bytes }] of rows) {
      if (epoch === commit.epoch && offset >= commit.offset) continue;
      rows.delete(id);
      this.#bytes -= bytes;
    }
  }

  forget(id: PartitionId): void {
    const key = partitionKey(id);
    for (const { bytes } of this.#partitions.get(key)?.values() ?? []) this.#bytes -= bytes;
    this.#partitions.delete(key);
  }
}
