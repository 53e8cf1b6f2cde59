/** The retry queue on BullMQ: one connection hands over, another runs what is due. */
import type { BackoffPolicy } from '../resilience/backoff.ts';
import type { Log } from '../telemetry/log.ts';
import { within } from './bounded.ts';
import { type RetryRedisOptions, retryRedis } from './connection.ts';
import type { Payload } from './job-record.ts';
import { Payloads, type ReadMessage } from './payloads.ts';
import { RetryProducer } from './producer.ts';
import { type QueueIdentity, queueName } from './queue-name.ts';
import type { RetryCounts, RetryEntry, RetryQueue, RunRetry } from './retry-queue.ts';
import { RetryRunner, type RunnerOptions } from './runner.ts';

export type BullmqRetryQueueOptions = {
  readonly redis: Pick<RetryRedisOptions, 'url' | 'tlsCa'> & Partial<RetryRedisOptions>;
  readonly keyPrefix: string;
  readonly identity: QueueIdentity;
  readonly payload: Payload;
  readonly maxAttempts: number;
  readonly backoff: BackoffPolicy;
  readonly concurrency: number;
  /** How jobs of which only the origin was kept get their message, whatever `payload` is now. */
  readonly read: ReadMessage;
  readonly onGone?: () => void;
  readonly lockMs?: number;
  readonly pollMs?: number;
  readonly log: Log;
};

const CONNECT_TIMEOUT_MS = 5_000;
const COMMAND_TIMEOUT_MS = 5_000;
const LOCK_MS = 30_000;
const POLL_MS = 500;
/** For running jobs, unless the caller says. */
const CLOSE_TIMEOUT_MS = 5_000;
/** For the connections; BullMQ may otherwise wait for a Redis that is away for ever. */
const DISCONNECT_TIMEOUT_MS = 2_000;

/** Begins to connect at once, and goes on trying for as long as it takes. */
export function createBullmqRetryQueue(options: BullmqRetryQueueOptions): RetryQueue {
  return new BullmqRetryQueue(options);
}

class BullmqRetryQueue implements RetryQueue {
  readonly #log: Log;
  readonly #producer: RetryProducer;
  readonly #runnerOptions: Omit<RunnerOptions, 'run'>;
  #runner: RetryRunner | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: BullmqRetryQueueOptions) {
    const { keyPrefix, payload, maxAttempts, backoff, concurrency, read, onGone = () => {}, log } = options;
    const timeouts = {
      connectTimeoutMs: options.redis.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      commandTimeoutMs: options.redis.commandTimeoutMs ?? COMMAND_TIMEOUT_MS,
    };
    const redis = retryRedis({ ...options.redis, ...timeouts });
    const common = { redis, name: queueName(options.identity), keyPrefix, backoff, log };
    this.#log = log;
    this.#producer = new RetryProducer({ ...common, ...timeouts, payload });
    this.#runnerOptions = {
      ...common,
      concurrency,
      maxAttempts,
      payloads: new Payloads({ read, onGone, log }),
      lockMs: options.lockMs ?? LOCK_MS,
      pollMs: options.pollMs ?? POLL_MS,
      commandTimeoutMs: timeouts.commandTimeoutMs,
    };
  }

  handOver(entries: readonly RetryEntry[], signal?: AbortSignal): Promise<void> {
    return this.#producer.handOver(entries, signal);
  }

  async start(run: RunRetry): Promise<void> {
    if (this.#closed !== undefined || this.#runner !== undefined) return;
    const runner = new RetryRunner({ ...this.#runnerOptions, run });
    this.#runner = runner;
    runner.start();
    try {
      await this.#producer.untilReady();
    } catch (thrown) {
      const error = thrown as { readonly failureClass?: string };
      if (error.failureClass !== 'outage') throw thrown;
      this.#log.warn('waiting for the Redis of retries', { error });
    }
  }

  counts(): Promise<RetryCounts | undefined> {
    return this.#producer.counts();
  }

  close(signal: AbortSignal = AbortSignal.timeout(CLOSE_TIMEOUT_MS)): Promise<void> {
    this.#closed ??= this.#close(signal);
    return this.#closed;
  }

  async #close(signal: AbortSignal): Promise<void> {
    await this.#runner?.close(signal);
    await this.#bounded(this.#producer.close());
  }

  async #bounded(closing: Promise<void>): Promise<void> {
    await within(closing, DISCONNECT_TIMEOUT_MS, 'disconnect').catch((error: unknown) =>
      this.#log.warn('the connection to the Redis of retries did not end in order', { error }),
    );
  }
}
