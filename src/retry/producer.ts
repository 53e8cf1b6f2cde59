/** The side of the retry queue that hands over and counts. Its connection fails fast: no command waits for Redis to come back. */
import { type BulkJobOptions, Queue } from 'bullmq';
import type { BackoffPolicy } from '../resilience/backoff.ts';
import { backoffMs } from '../resilience/backoff.ts';
import type { Log } from '../telemetry/log.ts';
import { within } from './bounded.ts';
import { ConnectionTrouble, keepQuiet, type RetryRedis } from './connection.ts';
import { type Payload, type StoredRecord, storedRecord } from './job-record.ts';
import { jobId } from './queue-name.ts';
import { isHopeless, retryError } from './redis-errors.ts';
import type { RetryCounts, RetryEntry } from './retry-queue.ts';
import { readSetup, setupWarnings } from './server-checks.ts';

export type ProducerOptions = {
  readonly redis: RetryRedis;
  readonly name: string;
  readonly keyPrefix: string;
  readonly payload: Payload;
  readonly backoff: BackoffPolicy;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly log: Log;
};

type NewJob = { readonly name: string; readonly data: StoredRecord; readonly opts: BulkJobOptions };

/** BullMQ's own limit would end a job as failed; ours is the run's business. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const MAX_JOBS_A_CALL = 200;
const MAX_BYTES_A_CALL = 4 * 1_048_576;
const COUNT_TIMEOUT_MS = 2_000;
/** Of BullMQ's log of events, which nobody reads here. */
const MAX_EVENTS = 100;

export class RetryProducer {
  readonly #options: ProducerOptions;
  readonly #queue: Queue<StoredRecord>;
  readonly #trouble: ConnectionTrouble;
  #known = false;
  #warned = '';

  constructor(options: ProducerOptions) {
    this.#options = options;
    const { redis, name, keyPrefix, log } = options;
    this.#trouble = new ConnectionTrouble(redis.server, log);
    this.#queue = new Queue<StoredRecord>(name, {
      connection: { ...redis.connection, connectionName: 'rag-serving-retry' },
      prefix: keyPrefix,
      skipVersionCheck: true,
      streams: { events: { maxLen: MAX_EVENTS } },
    });
    // Without a listener an error event would end the process.
    this.#queue.on('error', (error) => this.#trouble.note(error));
    keepQuiet(this.#queue.getBackend().client);
    this.#queue.getBackend().on('ready', () => this.#onReady());
  }

  /** Rejects at the time limit, or at once with class `fatal` when waiting cannot help. */
  async untilReady(signal?: AbortSignal): Promise<void> {
    let stop = (): void => {};
    const refused = new Promise<never>((_, reject) => {
      stop = this.#trouble.listen((error) => {
        if (isHopeless(error)) reject(this.#error(error, 'connect'));
      });
    });
    refused.catch(() => undefined);
    try {
      const ready = Promise.race([this.#queue.waitUntilReady(), refused]);
      await within(ready, this.#options.connectTimeoutMs, 'reach the Redis of retries', signal);
    } catch (error) {
      throw this.#error(error, 'reach the Redis of retries');
    } finally {
      stop();
    }
  }

  async handOver(entries: readonly RetryEntry[], signal?: AbortSignal): Promise<void> {
    if (entries.length === 0) return;
    const doing = `hand ${entries.length} chunks over to the retry queue`;
    await this.untilReady(signal);
    for (const jobs of inCalls(entries.map((entry) => this.#job(entry)))) {
      try {
        await within(this.#queue.addBulk(jobs), this.#options.commandTimeoutMs, doing, signal);
      } catch (error) {
        throw this.#error(error, doing);
      }
    }
  }

  async counts(): Promise<RetryCounts | undefined> {
    if (!this.#known) return undefined;
    try {
      const counts = await within(
        this.#queue.getJobCounts('delayed', 'wait', 'active'),
        COUNT_TIMEOUT_MS,
        'count retries',
      );
      return { delayed: counts.delayed ?? 0, waiting: counts.wait ?? 0, active: counts.active ?? 0 };
    } catch {
      return undefined;
    }
  }

  /** BullMQ's own orderly end waits for Redis; there is nothing to be in order for. */
  async close(): Promise<void> {
    await this.#queue.getBackend().close(true);
    await this.#queue.close();
  }

  #job(entry: RetryEntry): NewJob {
    const { payload, backoff } = this.#options;
    return {
      name: entry.stage,
      data: storedRecord(entry, payload),
      opts: {
        jobId: jobId(entry.raw, entry.index),
        delay: Math.max(1, Math.round(backoffMs(1, backoff, Math.random()))),
        attempts: NO_LIMIT,
        backoff: { type: 'custom' },
        // An id that is still there, finished or not, would swallow the next hand-over of the same chunk.
        removeOnComplete: true,
        stackTraceLimit: 0,
      },
    };
  }

  #onReady(): void {
    this.#known = true;
    this.#trouble.over();
    void this.#checkServer();
  }

  async #checkServer(): Promise<void> {
    const { log, redis } = this.#options;
    const client = (await this.#queue.getBackend().client) as unknown as ConfigReader;
    const setup = await readSetup(async (name) => (await client.config('GET', name)) as string[], log);
    const warnings = setupWarnings(setup);
    if (warnings.join() === this.#warned) return;
    this.#warned = warnings.join();
    for (const warning of warnings) log.warn('the Redis of retries', { server: redis.server, warning });
  }

  #error(error: unknown, doing: string) {
    return retryError(error, doing, this.#options.redis.server);
  }
}

/** BullMQ's type of the client lists what BullMQ itself calls. */
type ConfigReader = { config(verb: 'GET', name: string): Promise<unknown> };

function* inCalls(jobs: readonly NewJob[]): Generator<NewJob[]> {
  let call: NewJob[] = [];
  let bytes = 0;
  for (const job of jobs) {
    const size = job.data.message?.value?.length ?? 0;
    if (call.length === MAX_JOBS_A_CALL || (call.length > 0 && bytes + size > MAX_BYTES_A_CALL)) {
      yield call;
      call = [];
      bytes = 0;
    }
    call.push(job);
    bytes += size;
  }
  if (call.length > 0) yield call;
}
