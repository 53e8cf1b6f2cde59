/** What travels through the pipeline: chunks to embed, and deletions. Plain data, no I/O. */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue };

/** Where in Kafka a record stands. Offsets are bigint from decode to commit. */
export type SourcePosition = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
};

export type ChunkRecord = {
  readonly chunkId: string;
  readonly documentId: string;
  /** Well-formed Unicode; never logged. */
  readonly text: string;
  /** True when the text was cut to the byte limit. */
  readonly truncated: boolean;
  readonly tenantId: string | undefined;
  /** Revision chosen by the producer; an integer ≥ 0. */
  readonly version: number | undefined;
  readonly metadata: JsonObject | undefined;
  readonly source: SourcePosition;
  /** Position inside its batch message, from 0; undefined for a chunk that is a message of its own. */
  readonly batchIndex: number | undefined;
};

/** A Kafka tombstone: the chunk or the whole document named by the key leaves the store. */
export type Deletion = {
  readonly scope: 'chunk' | 'document';
  readonly id: string;
  readonly source: SourcePosition;
};

/** A Kafka message as it arrived, kept for the dead-letter topic: bytes are not re-encoded. */
export type RawMessage = {
  readonly source: SourcePosition;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly (readonly [name: string, value: Uint8Array | null])[];
  /** Milliseconds since the Unix epoch. */
  readonly timestampMs: number;
};
