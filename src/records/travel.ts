/** A record on its way: what it is, the message it came from, and the function that ends its journey. */
import type { ServingError } from '../errors.ts';
import type { ChunkRecord, Deletion, RawMessage } from './chunk.ts';
import type { Settle } from './outcome.ts';

/** A chunk that comes from the retry queue and not straight from the log. */
export type RetryTravel = {
  /** Attempts made before this one. */
  readonly attempts: number;
  /** Refused once more it goes to the dead letters; else back to the queue. */
  readonly last: boolean;
};

export type ChunkInFlight = {
  readonly kind: 'chunk';
  readonly chunk: ChunkRecord;
  readonly raw: RawMessage;
  readonly settle: Settle;
  readonly retry?: RetryTravel;
};

export type DeletionInFlight = {
  readonly kind: 'deletion';
  readonly deletion: Deletion;
  readonly raw: RawMessage;
  readonly settle: Settle;
};

/** A message, or one chunk of a batch message, that could not be decoded: it goes to the dead letters. */
export type RejectInFlight = {
  readonly kind: 'reject';
  readonly error: ServingError;
  readonly raw: RawMessage;
  /** Position inside a batch message; undefined when the whole message is at fault. */
  readonly index: number | undefined;
  readonly settle: Settle;
};

export type RecordInFlight = ChunkInFlight | DeletionInFlight | RejectInFlight;
