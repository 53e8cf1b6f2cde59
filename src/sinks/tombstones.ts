/**
 * Which deletions a store remembers, and which writes they keep out; pure.
 *
 * A marker says: of partition P, all that was written about this id before offset N is deleted. Offsets of another
 * partition say nothing about age, so a marker only ever stops writes of its own partition, and each partition has its
 * own. That makes markers a set of maxima: their order of arrival does not matter, and one never undoes another.
 *
 * A deletion that took a row of another partition leaves a second marker, `row`, in the name of that row: it and all
 * before it in its partition are deleted.
 *
 * Surprising: a newer write leaves the marker in place. The row it stores does not keep all older ones out (one with a
 * larger version, or of another partition, would win over it), the marker does.
 */
import { ServingError } from '../errors.ts';
import type { Deletion, SourcePosition } from '../records/chunk.ts';

export type Mark = {
  /** `row`: the id is that of a chunk, the source that of the row that was taken. */
  readonly scope: Deletion['scope'] | 'row';
  readonly id: string;
  readonly source: SourcePosition;
};

export type Tombstone = Mark & {
  /** Milliseconds since the Unix epoch. */
  readonly deletedAtMs: number;
};

export const DEFAULT_TOMBSTONE_RETENTION_MS = 604_800_000;

type Marker = { readonly offset: bigint; readonly deletedAtMs: number };
type Guarded = { readonly chunkId: string; readonly documentId: string; readonly source: SourcePosition };

export class Tombstones {
  readonly #retentionMs: number;
  /** In the order of their last recording, so the oldest stand in front. */
  readonly #markers = new Map<string, Marker>();

  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  get size(): number {
    return this.#markers.size;
  }

  /** Of several deletions of one id in one partition the last in the log counts. */
  record({ scope, id, source, deletedAtMs }: Tombstone): void {
    const key = keyOf(scope, id, source);
    const known = this.#markers.get(key);
    this.#markers.delete(key);
    this.#markers.set(key, {
      offset: known !== undefined && known.offset > source.offset ? known.offset : source.offset,
      deletedAtMs: Math.max(known?.deletedAtMs ?? 0, deletedAtMs),
    });
  }

  /** True when the chunk or its document was deleted by a later message of the row's partition, or as this row or a later one. */
  covers({ chunkId, documentId, source }: Guarded, nowMs: number): boolean {
    if (this.#markers.size === 0) return false;
    const taken = this.#find('row', chunkId, source, nowMs);
    if (taken !== undefined && taken.offset >= source.offset) return true;
    const deletedBy = [this.#find('chunk', chunkId, source, nowMs), this.#find('document', documentId, source, nowMs)];
    return deletedBy.some((marker) => marker !== undefined && marker.offset > source.offset);
  }

  /** True when this deletion, or a later one of the same id and partition, was carried out already. */
  repeats({ scope, id, source }: Deletion, nowMs: number): boolean {
    const marker = this.#find(scope, id, source, nowMs);
    return marker !== undefined && marker.offset >= source.offset;
  }

  /** Forgets what is past its time. */
  expire(nowMs: number): void {
    for (const [key, marker] of this.#markers) {
      if (this.#isLive(marker, nowMs)) return;
      this.#markers.delete(key);
    }
  }

  #find(scope: Mark['scope'], id: string, source: SourcePosition, nowMs: number): Marker | undefined {
    const marker = this.#markers.get(keyOf(scope, id, source));
    return marker !== undefined && this.#isLive(marker, nowMs) ? marker : undefined;
  }

  #isLive({ deletedAtMs }: Marker, nowMs: number): boolean {
    return nowMs < deletedAtMs + this.#retentionMs;
  }
}

/** Neither a partition nor a topic holds a slash, so the id may hold anything. */
function keyOf(scope: Mark['scope'], id: string, { topic, partition }: SourcePosition): string {
  return `${scope}/${partition}/${topic}/${id}`;
}

export function checkTombstoneRetention(retentionMs: number): void {
  if (Number.isSafeInteger(retentionMs) && retentionMs >= 1) return;
  throw new ServingError(
    'CONFIG_INVALID',
    `RAG_SERVING_TOMBSTONE_RETENTION_MS is ${retentionMs}; it must be a whole number of milliseconds, at least 1`,
  );
}
