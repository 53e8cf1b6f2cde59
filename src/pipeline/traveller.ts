/** A chunk or deletion on its way through the pipeline, and how far it has come. */
import type { ChunkInFlight, DeletionInFlight } from '../records/travel.ts';
import { isNewerRevision } from '../sinks/revision.ts';
import type { BatchTrace } from './batch-trace.ts';
import type { OrderKeys } from './order.ts';

/**
 * `held`: waits in the order gate. `packed`: has passed it and is not sent yet. `sent`: the engine or the store may
 * know of it. `done`: settled.
 */
export type TravelState = 'held' | 'packed' | 'sent' | 'done';

export type Traveller<R extends ChunkInFlight | DeletionInFlight = ChunkInFlight | DeletionInFlight> = {
  readonly record: R;
  readonly bytes: number;
  state: TravelState;
  /** Of the batch it is in, where the worker traces. */
  trace?: BatchTrace;
};

export type ChunkTraveller = Traveller<ChunkInFlight>;
export type DeletionTraveller = Traveller<DeletionInFlight>;

export function isChunk(traveller: Traveller): traveller is ChunkTraveller {
  return traveller.record.kind === 'chunk';
}

export function orderKeys({ record }: Traveller): OrderKeys {
  if (record.kind === 'chunk') {
    return { chunkId: record.chunk.chunkId, documentId: record.chunk.documentId, wholeDocument: false };
  }
  return record.deletion.scope === 'document'
    ? { chunkId: undefined, documentId: record.deletion.id, wholeDocument: true }
    : { chunkId: record.deletion.id, documentId: undefined, wholeDocument: false };
}

/** A newer revision that waits behind an older one makes the older one's embedding pointless. Deletions always run. */
export function replacesWaiting(later: Traveller, earlier: Traveller): boolean {
  return (
    later.record.kind === 'chunk' &&
    earlier.record.kind === 'chunk' &&
    isNewerRevision(later.record.chunk, earlier.record.chunk)
  );
}
