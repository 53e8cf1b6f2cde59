/**
 * Sink: the port to a vector store.
 *
 * Promises (held by test/contract/sink-contract.ts, which every implementation runs):
 * - a write is idempotent: the same rows again leave the store as it was;
 * - an older revision never overwrites a newer one (`isNewerRevision` in revision.ts);
 * - a deletion is remembered: an older write of its partition that comes later is `superseded` (tombstones.ts);
 * - `write` and `remove` answer one outcome per input, in order, and only after the store has acknowledged it;
 * - a fault of the whole store rejects with a ServingError of class `outage` or `fatal`; then nothing counts as stored;
 * - a row that the store refuses is `refused`; the other rows of the call are stored.
 */
import type { ServingError } from '../errors.ts';
import type { VectorContract, VectorDtype } from '../kserve/contract.ts';
import type { CommitPartner } from '../offsets/commit-partner.ts';
import type { Deletion, JsonObject, SourcePosition } from '../records/chunk.ts';

export type SinkRow = {
  readonly chunkId: string;
  readonly documentId: string;
  readonly tenantId: string | undefined;
  /** Little-endian elements of the contract's dtype; exactly bytesPerVector(contract) bytes. */
  readonly vector: Uint8Array;
  /** Lower-case hex SHA-256 of the UTF-8 text as embedded. */
  readonly textSha256: string;
  /** Present only when the text is to be stored. */
  readonly text: string | undefined;
  readonly truncated: boolean;
  readonly metadata: JsonObject | undefined;
  readonly source: SourcePosition;
  readonly version: number | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly embeddedAtMs: number;
  /** It comes from the retry queue: its message is settled, and no commit will follow. */
  readonly handedOver?: true;
};

export type RowOutcome =
  | { readonly kind: 'stored' }
  /** The store holds a newer revision, or remembers a later deletion. For a deletion: every row it names is newer. */
  | { readonly kind: 'superseded' }
  | { readonly kind: 'refused'; readonly error: ServingError };

export type SearchHit = {
  readonly chunkId: string;
  readonly documentId: string;
  readonly tenantId: string | undefined;
  /** Cosine similarity, 1 = same direction. */
  readonly score: number;
  readonly text: string | undefined;
  readonly metadata: JsonObject | undefined;
};

/** How many are wanted, and of whom. */
export type SearchScope = {
  readonly limit: number;
  /** Only rows of this tenant; of all, and of nobody, unless given. */
  readonly tenantId?: string | undefined;
};

/** A collection as its store tells of it. */
export type CollectionDescription = {
  /** As it reads in a message: `LanceDB table "chunks" at ./data`. */
  readonly collection: string;
  /** The setting that names another collection. */
  readonly setting: string;
  readonly fingerprint: string;
  readonly dims: number;
  /** Of the model's vectors; a store may keep them as another type. */
  readonly dtype: VectorDtype;
  readonly rows: number;
  /** How a search is done, in words; undefined where the store cannot tell. */
  readonly index: string | undefined;
};

export interface Sink {
  readonly name: string;
  /** Of a sink that makes rows and offsets durable together: the source commits through it, and only then a row is stored. */
  readonly commits?: CommitPartner | undefined;
  /** Creates the collection, or checks that the one there has this contract. Once, before anything else. */
  open(contract: VectorContract, signal?: AbortSignal): Promise<void>;
  /**
   * Instead of `open`, to look only: creates and changes nothing. Afterwards all that reads works, and `write` and `remove`
   * reject. Undefined when there is no such collection; the sink is then as it was before. Rejects as `open` does.
   */
  inspect(signal?: AbortSignal): Promise<CollectionDescription | undefined>;
  /** May hold the same chunk id more than once: the newest revision stays. */
  write(rows: readonly SinkRow[], signal?: AbortSignal): Promise<readonly RowOutcome[]>;
  /** Deleting what is not there is fine. */
  remove(deletions: readonly Deletion[], signal?: AbortSignal): Promise<readonly RowOutcome[]>;
  /** Resolves when the store answers; rejects as `write` does. */
  ping(signal?: AbortSignal): Promise<void>;
  /** Rows in the collection. */
  count(signal?: AbortSignal): Promise<number>;
  /** Nearest chunks by cosine, best first, by an exact scan where no index exists. */
  search(vector: Float32Array, wanted: number | SearchScope, signal?: AbortSignal): Promise<readonly SearchHit[]>;
  /** Reads rows back by chunk id; missing ids are left out. For checks and tools, not for the hot path. */
  fetch(chunkIds: readonly string[], signal?: AbortSignal): Promise<readonly StoredRow[]>;
  /**
   * Reads the collection from end to end, a page of about `limit` rows at a time. A row that is there from the first page to
   * the last is given at least once, one that is written meanwhile perhaps. `next` is good in another process too. For
   * tools. Left out by stores that cannot be read through.
   */
  scan?(after: string | undefined, limit: number, signal?: AbortSignal): Promise<ScanPage>;
  /** Idempotent; ends within a few seconds even when the store is away. */
  close(): Promise<void>;
}

export function scopeOf(wanted: number | SearchScope): SearchScope {
  return typeof wanted === 'number' ? { limit: wanted } : wanted;
}

export type StoredRow = SinkRow & { readonly fingerprint: string };

export type ScanPage = {
  readonly rows: readonly StoredRow[];
  /** What the next page comes after; undefined after the last. */
  readonly next: string | undefined;
};
