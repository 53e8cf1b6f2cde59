/**
 * Where a chunk waits for another attempt, outside this process: what is handed over survives it, and any worker of the same
 * group, topic and collection may run it. BullMQ on Redis implements it; test/contract/retry holds its promises.
 *
 * A job may run more than once, also twice at the same time (a worker that lost its connection for longer than its lock):
 * what it does must be idempotent. Jobs run in no particular order.
 */
import type { ServingError } from '../errors.ts';
import type { RawMessage } from '../records/chunk.ts';

export type RetryEntry = {
  /** The Kafka message as it arrived. */
  readonly raw: RawMessage;
  /** Position inside a batch message. */
  readonly index: number | undefined;
  readonly chunkId: string;
  readonly stage: 'embed' | 'persist';
  /** Why the last attempt failed. */
  readonly error: ServingError;
  /** Attempts made so far. */
  readonly attempts: number;
};

export type RetryJob = {
  readonly raw: RawMessage;
  readonly index: number | undefined;
  /** This one, counted on from the hand-over. Above the limit when the last one could not be brought to an end. */
  readonly attempt: number;
  /** No attempt after this one: the runner dead-letters what fails now, and answers `done`. */
  readonly last: boolean;
};

export type RetryVerdict =
  /** Stored, dropped as older than what the store holds, or dead-lettered: the job is removed. */
  | { readonly kind: 'done' }
  /**
   * The chunk was refused once more: later again. Counts as an attempt. On the last attempt too the job is kept, for the
   * longest backoff: nothing is dropped here. Outages are not for this: the runner waits them out or abandons the job.
   */
  | { readonly kind: 'again'; readonly error: ServingError }
  /** This worker is stopping: whoever is next runs it, at once and without counting an attempt. No further job is taken. */
  | { readonly kind: 'abandoned' };

export type RunRetry = (job: RetryJob, signal: AbortSignal) => Promise<RetryVerdict>;

export type RetryCounts = {
  /** Waiting for their time. */
  readonly delayed: number;
  /** Due, waiting for a worker. */
  readonly waiting: number;
  /** Running, in any worker. */
  readonly active: number;
};

export interface RetryQueue {
  /**
   * Resolves once Redis has acknowledged every entry; rejects with class `outage` (Redis away, full, read-only) or `fatal` (no
   * rights) within a bounded time. After a rejection some may be there nevertheless; the same origin twice is fine.
   */
  handOver(entries: readonly RetryEntry[], signal?: AbortSignal): Promise<void>;
  /**
   * Starts running due jobs, at most `concurrency` at once. Redis that is away is waited for in the background; rejects with
   * class `fatal` when Redis refuses us. A `run` that throws counts as `again`, unless what it throws says nothing about the chunk.
   */
  start(run: RunRetry): Promise<void>;
  /** Stops taking jobs; running ones may end until the signal aborts, then theirs does; then closes, also with Redis away. */
  close(signal?: AbortSignal): Promise<void>;
  /** For metrics; undefined while Redis is away. */
  counts(): Promise<RetryCounts | undefined>;
}
