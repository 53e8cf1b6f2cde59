/**
 * The side of the retry queue that runs due jobs: asks for one at a time, keeps their locks, and writes down what became of
 * each.
 *
 * BullMQ's own worker loop is not used: an answer such as OOM or READONLY makes it ask again without a pause, its blocking
 * reads have been seen to sleep through a restart of Redis, and its jobs fail for good once they have stalled too often.
 * Here Redis is polled, every wait has a limit, and a pause follows each failure.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'bullmq';
import { asServingError } from '../errors.ts';
import type { BackoffPolicy } from '../resilience/backoff.ts';
import { Permits } from '../resilience/permits.ts';
import type { Log } from '../telemetry/log.ts';
import { within } from './bounded.ts';
import { ConnectionTrouble, keepQuiet, type RetryRedis } from './connection.ts';
import { type JobRecord, readRecord, type StoredRecord } from './job-record.ts';
import { backoffStrategy, type QueuedJob, takeStep } from './job-steps.ts';
import { type Attempts, attemptOf, longestWaitMs, type NextStep, nextStep, type RunEnd } from './next-step.ts';
import type { Payloads } from './payloads.ts';
import { isLostJob, labelOf } from './redis-errors.ts';
import type { RunRetry } from './retry-queue.ts';

export type RunnerOptions = {
  readonly redis: RetryRedis;
  readonly name: string;
  readonly keyPrefix: string;
  readonly concurrency: number;
  readonly maxAttempts: number;
  readonly backoff: BackoffPolicy;
  readonly payloads: Payloads;
  readonly run: RunRetry;
  /** How long a job of a worker that vanished stays its own. */
  readonly lockMs: number;
  readonly pollMs: number;
  readonly commandTimeoutMs: number;
  readonly log: Log;
};

/** Between attempts to talk to a Redis that does not answer as it should. */
const TROUBLE_PAUSE_MS = 1_000;
/** For what is written down while closing. */
const LAST_WORDS_MS = 1_000;

export class RetryRunner {
  readonly #options: RunnerOptions;
  readonly #worker: Worker<StoredRecord>;
  readonly #trouble: ConnectionTrouble;
  readonly #permits: Permits;
  readonly #running = new Map<QueuedJob, Promise<void>>();
  /** No further job is taken. */
  readonly #stopped = new AbortController();
  /** Running jobs are to end. */
  readonly #ending = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  #looping: Promise<void> = Promise.resolve();
  #tokens = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    const { redis, name, keyPrefix, lockMs, log } = options;
    this.#trouble = new ConnectionTrouble(redis.server, log);
    this.#permits = new Permits(options.concurrency);
    // As many listeners as there are jobs.
    setMaxListeners(0, this.#stopped.signal, this.#ending.signal);
    this.#worker = new Worker<StoredRecord>(name, null, {
      connection: { ...redis.connection, connectionName: 'rag-serving-retry-runner' },
      prefix: keyPrefix,
      skipVersionCheck: true,
      autorun: false,
      lockDuration: lockMs,
      stalledInterval: Math.ceil(lockMs / 2),
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      settings: { backoffStrategy },
    });
    this.#worker.on('error', (error) => this.#trouble.note(error));
    const backend = this.#worker.getBackend();
    keepQuiet(backend.client);
    keepQuiet(backend.blockingClient);
  }

  start(): void {
    const { lockMs } = this.#options;
    this.#every(lockMs / 3, () => this.#keepLocks());
    this.#every(lockMs / 2, () => this.#takeOver());
    this.#looping = this.#loop();
  }

  stopTaking(): void {
    this.#stopped.abort();
  }

  /** Running jobs may end until the signal aborts; then they are told, and have a moment for it. */
  async close(signal: AbortSignal): Promise<void> {
    this.stopTaking();
    // A question for a job may still be under way; nobody answers it while Redis is away.
    const patience = AbortSignal.any([signal, AbortSignal.timeout(LAST_WORDS_MS)]);
    if (!this.#trouble.present) await untilAborted(this.#looping, patience);
    await untilAborted(this.#allEnded(), signal);
    this.#ending.abort();
    await untilAborted(this.#allEnded(), AbortSignal.timeout(LAST_WORDS_MS));
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#running.size > 0) {
      this.#options.log.warn('retries left running; another worker takes them over', { jobs: this.#running.size });
    }
    await within(this.#worker.close(true), LAST_WORDS_MS, 'disconnect').catch((error: unknown) =>
      this.#options.log.warn('the runner of retries did not disconnect in order', { error }),
    );
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const release = await this.#permits.acquire(signal).catch(() => undefined);
      if (release === undefined) return;
      const taken = await this.#take();
      if (typeof taken === 'object') {
        const run = this.#process(taken).finally(() => {
          this.#running.delete(taken);
          release();
        });
        this.#running.set(taken, run);
        continue;
      }
      release();
      const pauseMs = taken === 'none' ? this.#options.pollMs : TROUBLE_PAUSE_MS;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #take(): Promise<QueuedJob | 'none' | 'trouble'> {
    this.#tokens += 1;
    try {
      // Undefined when there is none, whatever the type says.
      const job: QueuedJob | undefined = await this.#worker.getNextJob(`${this.#worker.id}-${this.#tokens}`, {
        block: false,
      });
      this.#trouble.over();
      return job ?? 'none';
    } catch (error) {
      this.#trouble.note(error);
      return 'trouble';
    }
  }

  /** Never rejects: what goes wrong here leaves the job active, and its lock runs out. */
  async #process(job: QueuedJob): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#writeDown(job, await this.#stepOf(job));
    } catch (error) {
      log.error('a retry could not be brought to an end and stays in the queue', { jobId: job.id, error });
    }
  }

  async #stepOf(job: QueuedJob): Promise<NextStep> {
    const { maxAttempts, backoff, log } = this.#options;
    // Asked for before we stopped, given after.
    if (this.#stopped.signal.aborted) return { kind: 'release' };
    const record = readRecord(job.data);
    if (record === undefined) {
      const delayMs = longestWaitMs(backoff, Math.random());
      log.error('a retry of unknown form: written by another version? It is kept', { jobId: job.id, delayMs });
      return { kind: 'delay', delayMs, attempt: undefined };
    }
    const attempts = { before: record.attempts, since: job.attemptsMade, limit: maxAttempts };
    const end = await this.#run(record, attempts, job.id);
    if (end.kind === 'abandoned') this.stopTaking();
    return nextStep(end, attempts, backoff, Math.random());
  }

  async #run(record: JobRecord, attempts: Attempts, id: string | undefined): Promise<RunEnd> {
    const { payloads, run, log } = this.#options;
    const { signal } = this.#ending;
    try {
      const raw = await payloads.messageOf(record, signal);
      if (raw === undefined) return { kind: 'done' };
      return await run({ raw, index: record.index, ...attemptOf(attempts) }, signal);
    } catch (thrown) {
      if (signal.aborted) return { kind: 'abandoned' };
      const error = asServingError(thrown);
      if (error.code === 'INTERNAL') log.error('a retry failed by a fault of this program', { jobId: id, error });
      return { kind: 'failed', error };
    }
  }

  /** Tried until Redis answers, or until we stop: then the job's lock runs out and another worker runs it again. */
  async #writeDown(job: QueuedJob, step: NextStep): Promise<void> {
    for (;;) {
      try {
        return await within(takeStep(job, step, Date.now()), this.#options.commandTimeoutMs, 'write down a retry');
      } catch (error) {
        if (isLostJob(error)) {
          this.#options.log.info('a retry ran longer than its lock and may run twice', { jobId: job.id });
          return;
        }
        this.#trouble.note(error);
        if (this.#stopped.signal.aborted) return;
      }
      await sleep(TROUBLE_PAUSE_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }

  async #keepLocks(): Promise<void> {
    const jobs = [...this.#running.keys()];
    if (jobs.length === 0) return;
    const ids = jobs.map(({ id }) => id ?? '');
    const tokens = jobs.map(({ token }) => token ?? '');
    await this.#worker.extendJobLocks(ids, tokens, this.#options.lockMs);
  }

  /** What a worker that vanished was running waits again. Redis lets one worker look at a time. */
  async #takeOver(): Promise<void> {
    const stalled = await this.#worker.getBackend().moveStalledJobsToWait();
    if (stalled.length > 0)
      this.#options.log.warn('retries of a worker that vanished are run again', { jobs: stalled });
  }

  #every(periodMs: number, call: () => Promise<void>): void {
    let under = false;
    const tick = async () => {
      if (under) return;
      under = true;
      await call().catch((error: unknown) => this.#options.log.debug('retry upkeep', { reason: labelOf(error) }));
      under = false;
    };
    void tick();
    this.#timers.push(setInterval(() => void tick(), periodMs).unref());
  }

  async #allEnded(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}

async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let onAbort = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    if (signal.aborted) resolve();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  await Promise.race([work, aborted]);
  signal.removeEventListener('abort', onAbort);
}
