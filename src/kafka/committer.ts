/**
 * When to commit: by interval, by number of finished messages, at a rebalance, on request. What to commit is the plan of
 * `Partitions`; how is one attempt of the consumer, which resolves only on the broker's acknowledgement.
 *
 * The plan is made in a macrotask of its own and handed over in the same turn: kafkajs switches to a new generation a few
 * microtasks before it reports the new assignment, and in between an old plan would be signed with the new generation.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { boundedWait } from '../bounded-wait.ts';
import { ServingError } from '../errors.ts';
import type { Commit } from '../offsets/commit-plan.ts';
import type { Log } from '../telemetry/log.ts';
import { brokerErrorType, isStaleMember, kafkaError, mayHeal } from './kafka-errors.ts';
import type { Partitions } from './partitions.ts';

export type CommitAttempt = (commits: readonly Commit[]) => Promise<void>;

export type CommitterOptions = {
  readonly partitions: Partitions;
  readonly attempt: CommitAttempt;
  /** False while there is no membership to commit with. */
  readonly canCommit: () => boolean;
  readonly log: Log;
  readonly intervalMs: number;
  /** Finished messages that bring a commit forward. */
  readonly threshold: number;
  /** Told how long each commit took, and the error of one that was not acknowledged. */
  readonly onAttempted?: ((tookMs: number, error: ServingError | undefined) => void) | undefined;
  readonly onFatal: (error: ServingError) => void;
  /** The broker has answered. */
  readonly onResult: (result: 'ok' | 'failed') => void;
};

const TOO_LARGE = 'OFFSET_METADATA_TOO_LARGE';
const RETRY_DELAY_MS = 250;

export class Committer {
  readonly #options: CommitterOptions;
  #timer: NodeJS.Timeout | undefined;
  #finished = 0;
  #running: Promise<void> | undefined;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#background(), this.#options.intervalMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  noteFinished(): void {
    this.#finished += 1;
    if (this.#finished === this.#options.threshold) this.hasten();
  }

  /** There is something to commit that should not wait for the interval. */
  hasten(): void {
    setImmediate(() => this.#background());
  }

  /** Sends what is done in this very turn, before the group moves on, and does not wait. */
  flush(): void {
    const commits = this.#options.partitions.plan();
    if (commits.length > 0) this.#send(commits).catch((error: unknown) => this.#report(error, commits));
  }

  /** Resolves when all that is done now is acknowledged; tries until the signal aborts. */
  async commit(signal: AbortSignal): Promise<void> {
    const { partitions, canCommit } = this.#options;
    let last: unknown;
    do {
      const running = this.#running?.catch(() => undefined);
      if (running !== undefined) await settledOrAborted(running, signal);
      await nextTurn();
      if (this.#running !== undefined) continue;
      const commits = partitions.plan();
      if (commits.length === 0 && partitions.allReconciled) return;
      if (commits.length === 0 || !canCommit()) continue;
      try {
        await settledOrAborted(this.#once(commits), signal);
        if (partitions.allReconciled) return;
      } catch (error) {
        last = error;
        this.#report(error, commits);
      }
    } while (await passes(RETRY_DELAY_MS, signal));
    if (last instanceof ServingError) throw last;
    throw new ServingError('KAFKA_UNAVAILABLE', 'cannot commit offsets: no acknowledgement in time', { cause: last });
  }

  #background(): void {
    if (this.#running !== undefined || !this.#options.canCommit()) return;
    const commits = this.#options.partitions.plan();
    if (commits.length === 0) return;
    this.#finished = 0;
    this.#once(commits).catch((error: unknown) => this.#report(error, commits));
  }

  /** One at a time: a slow answer must not let an older plan overtake a newer one. */
  async #once(commits: readonly Commit[]): Promise<void> {
    const attempt = this.#send(commits);
    this.#running = attempt;
    try {
      await attempt;
    } finally {
      if (this.#running === attempt) this.#running = undefined;
    }
    // What has finished while the broker took its time would otherwise wait for the interval.
    if (this.#finished >= this.#options.threshold) this.hasten();
  }

  async #send(commits: readonly Commit[]): Promise<void> {
    const startedMs = performance.now();
    try {
      await this.#options.attempt(commits);
    } catch (error) {
      this.#options.onAttempted?.(performance.now() - startedMs, kafkaError(error, 'commit offsets'));
      throw error;
    }
    this.#options.onAttempted?.(performance.now() - startedMs, undefined);
    for (const commit of commits) this.#options.partitions.acknowledge(commit);
    this.#options.onResult('ok');
  }

  #report(error: unknown, commits: readonly Commit[]): void {
    this.#options.onResult('failed');
    const type = brokerErrorType(error);
    if (type === TOO_LARGE) {
      const maxBytes = this.#options.partitions.shrinkMetadata();
      this.#options.log.warn('the broker takes less commit metadata; less is sent from now on', { maxBytes });
      return;
    }
    const known = kafkaError(error, 'commit offsets');
    const fields = { partitions: commits.length, code: known.code, kafkaErrorType: type };
    if (isStaleMember(error))
      this.#options.log.warn(
        'commit rejected: the group has moved on; it is tried again in the new generation',
        fields,
      );
    else this.#options.log.warn('commit failed; it is tried again', fields);
    if (!mayHeal(known)) this.#options.onFatal(known);
  }
}

/** True after the time, false as soon as the signal aborts. */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  if (!signal.aborted) await sleep(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

function settledOrAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const late = () => new ServingError('KAFKA_UNAVAILABLE', 'cannot commit offsets: no acknowledgement in time');
  return boundedWait(promise, { signal }, late);
}
