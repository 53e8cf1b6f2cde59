/**
 * Source: the port to the log that chunks are read from.
 *
 * The source pushes records; each carries its own `settle`. A message's offset may be committed once every record
 * that came from it has settled with anything but `abandoned`, and all offsets before it may.
 * The source bounds what is in flight (chunks and bytes) by itself; `pause` and `resume` are for the pipeline's own reasons.
 */
import type { RecordInFlight } from '../records/travel.ts';
import type { WaitReason } from './pauses.ts';

export type TopicPartition = { readonly topic: string; readonly partition: number };

export type SourceHandler = {
  /** Takes the records synchronously; must not throw. */
  onRecords(records: readonly RecordInFlight[]): void;
  onAssigned(partitions: readonly TopicPartition[]): void;
  /** These partitions are lost or about to be: drop what has not been sent; late outcomes change nothing. */
  onRevoked(partitions: readonly TopicPartition[]): void;
  /** The source cannot go on (no rights, dead consumer that a rebuild did not heal). The worker stops. */
  onFatal(error: Error): void;
};

export type SourceStatus = {
  /** Member of the group with an assignment (an empty one counts). */
  readonly joined: boolean;
  readonly reason: string | undefined;
  readonly assigned: readonly TopicPartition[];
  /** Counts memberships that began or ended; what belongs to an older one changes nothing. */
  readonly epoch: number;
  readonly inFlightChunks: number;
  readonly inFlightBytes: number;
  readonly paused: readonly string[];
  /** Milliseconds since a broker has last answered the reader. Attempts do not count. */
  readonly silentMs: number;
  /** Single partitions that wait, by reason. */
  readonly waiting: Readonly<Record<WaitReason, number>>;
};

/** For counting; must not throw. */
export type SourceObserver = {
  /** A fetched batch has been taken in, in so many seconds. */
  decoded?(seconds: number): void;
  committed(result: 'ok' | 'failed'): void;
  /** Offsets that were to be read are not there any more; `gone` of them were deleted unread. */
  offsetsReset(kind: 'deleted' | 'truncated', gone: bigint): void;
};

export interface Source {
  start(handler: SourceHandler): Promise<void>;
  /** Stops fetching for a named reason; reasons add up. */
  pause(reason: string): void;
  resume(reason: string): void;
  status(): SourceStatus;
  /** Reads on over fresh connections; what is known of the partitions stays. For whoever sees that the reader is stuck. */
  rebuild(reason: string): void;
  /** Commits what is done now. Resolves when the broker acknowledged it. */
  commit(signal?: AbortSignal): Promise<void>;
  /** Stops fetching for good, commits what is done and leaves the group. */
  close(signal?: AbortSignal): Promise<void>;
}
