/** What an operator may do to a retry queue beside the workers that run it: look, hasten, drop. BullMQ on Redis implements it. */
import type { RawMessage } from '../records/chunk.ts';
import type { RetryCounts } from './retry-queue.ts';
import type { ServerSetup } from './server-checks.ts';

export type WaitingState = 'delayed' | 'waiting' | 'active';

export type WaitingRetry = {
  /** Opaque; valid until the job ends. */
  readonly id: string;
  readonly state: WaitingState;
  /** Where its message stands; undefined, as all below, for a record that another version wrote. */
  readonly source: RawMessage['source'] | undefined;
  readonly index: number | undefined;
  readonly code: string | undefined;
  readonly stage: string | undefined;
  /** Made so far, those before the hand-over included. */
  readonly attempts: number;
  /** When it was handed over, and when it is due if it is delayed; milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly dueAtMs: number | undefined;
  /** Undefined where only the origin was kept. */
  readonly message: Pick<RawMessage, 'key' | 'value'> | undefined;
};

/** `gone`: it has ended meanwhile. `busy`: a worker runs it now, or it waits for one already. */
export type AdminOutcome = 'done' | 'gone' | 'busy';

/** How the Redis behind the queue is set up. */
export type RetryServer = {
  /** Its clock, milliseconds since the Unix epoch; undefined where it does not tell. */
  readonly atMs: number | undefined;
  readonly setup: ServerSetup;
};

export interface RetryAdmin {
  /**
   * Every retry that is there when it is asked, in the order in which they are due; one that ends meanwhile may be left out.
   * Rejects with class `outage` or `fatal` within a bounded time.
   */
  list(signal?: AbortSignal): AsyncIterable<WaitingRetry>;
  /** How many there are. Rejects as `list` does. */
  counts(signal?: AbortSignal): Promise<RetryCounts>;
  /** Rejects as `list` does. */
  server(signal?: AbortSignal): Promise<RetryServer>;
  /** Due at once, whoever runs it. */
  runNow(id: string): Promise<AdminOutcome>;
  /** Gone for good: its offset is committed, so nothing reads the chunk again. Not while a worker runs it. */
  drop(id: string): Promise<AdminOutcome>;
  close(): Promise<void>;
}
