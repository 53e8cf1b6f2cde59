/**
 * The retry queue as its operators see it, on BullMQ. Each deed is one script of BullMQ in Redis, so a worker that takes the
 * job at the same moment either was first, and we are told, or never sees it.
 */
import { Job, Queue } from 'bullmq';
import type { Log } from '../telemetry/log.ts';
import { within } from './bounded.ts';
import { ConnectionTrouble, keepQuiet, type RetryRedis, type RetryRedisOptions, retryRedis } from './connection.ts';
import { readRecord, type StoredRecord } from './job-record.ts';
import { type QueueIdentity, queueName } from './queue-name.ts';
import { isHopeless, isLostJob, retryError } from './redis-errors.ts';
import type { AdminOutcome, RetryAdmin, RetryServer, WaitingRetry, WaitingState } from './retry-admin.ts';
import type { RetryCounts } from './retry-queue.ts';
import { readSetup } from './server-checks.ts';

export type RetryAdminOptions = {
  readonly redis: Pick<RetryRedisOptions, 'url' | 'tlsCa'> & Partial<RetryRedisOptions>;
  readonly keyPrefix: string;
  readonly identity: QueueIdentity;
  readonly log: Log;
};

const CONNECT_TIMEOUT_MS = 5_000;
const COMMAND_TIMEOUT_MS = 5_000;
const DISCONNECT_TIMEOUT_MS = 2_000;
/** Jobs are read in pages: each may hold a message of a megabyte. */
const PAGE = 50;
/** BullMQ keeps the time in the upper bits of the score, and a counter in the lower twelve. */
const SCORE_UNITS_A_MS = 0x1000;
const STATES: readonly (readonly [state: WaitingState, ofBullmq: 'active' | 'waiting' | 'delayed'])[] = [
  ['active', 'active'],
  ['waiting', 'waiting'],
  ['delayed', 'delayed'],
];

export function createBullmqRetryAdmin(options: RetryAdminOptions): RetryAdmin {
  return new BullmqRetryAdmin(options);
}

class BullmqRetryAdmin implements RetryAdmin {
  readonly #redis: RetryRedis;
  readonly #queue: Queue<StoredRecord>;
  readonly #trouble: ConnectionTrouble;
  readonly #log: Log;
  readonly #connectTimeoutMs: number;
  readonly #commandTimeoutMs: number;

  constructor({ redis, keyPrefix, identity, log }: RetryAdminOptions) {
    this.#connectTimeoutMs = redis.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    this.#commandTimeoutMs = redis.commandTimeoutMs ?? COMMAND_TIMEOUT_MS;
    this.#redis = retryRedis({
      ...redis,
      connectTimeoutMs: this.#connectTimeoutMs,
      commandTimeoutMs: this.#commandTimeoutMs,
    });
    this.#trouble = new ConnectionTrouble(this.#redis.server, log);
    this.#log = log;
    this.#queue = new Queue<StoredRecord>(queueName(identity), {
      connection: { ...this.#redis.connection, connectionName: 'rag-serving-retry-admin' },
      prefix: keyPrefix,
      skipVersionCheck: true,
      // Otherwise only looking would leave a trace of the queue behind.
      skipMetasUpdate: true,
    });
    // Without a listener an error event would end the process.
    this.#queue.on('error', (error) => this.#trouble.note(error));
    keepQuiet(this.#queue.getBackend().client);
  }

  async *list(signal?: AbortSignal): AsyncIterable<WaitingRetry> {
    await this.#untilReady(signal);
    const seen = new Set<string>();
    for (const [state, type] of STATES) {
      // All ids at once: pages of a list that moves would leave jobs out.
      const ids = await this.#ask('list retries', () => this.#queue.getRanges([type], 0, -1, true), signal);
      for (let from = 0; from < ids.length; from += PAGE) {
        const page = ids.slice(from, from + PAGE).filter((id) => !seen.has(id));
        const read = () => Promise.all(page.map((id) => this.#read(id, state)));
        for (const retry of await this.#ask('read retries', read, signal)) {
          if (retry === undefined) continue;
          seen.add(retry.id);
          yield retry;
        }
      }
    }
  }

  async counts(signal?: AbortSignal): Promise<RetryCounts> {
    await this.#untilReady(signal);
    const counted = () => this.#queue.getJobCounts('delayed', 'wait', 'active');
    const { delayed = 0, wait = 0, active = 0 } = await this.#ask('count retries', counted, signal);
    return { delayed, waiting: wait, active };
  }

  async server(signal?: AbortSignal): Promise<RetryServer> {
    await this.#untilReady(signal);
    const client = (await this.#queue.getBackend().client) as unknown as ServerReader;
    const time = () => client.time().catch(() => undefined);
    const [timeText, setup] = await this.#ask(
      'look at the Redis of retries',
      () => Promise.all([time(), readSetup(async (name) => (await client.config('GET', name)) as string[], this.#log)]),
      signal,
    );
    const [seconds, micros] = timeText ?? [];
    const atMs = seconds === undefined ? undefined : Number(seconds) * 1_000 + Number(micros) / 1_000;
    return { atMs, setup };
  }

  async runNow(id: string): Promise<AdminOutcome> {
    return this.#do('run a retry now', id, (job) => job.promote());
  }

  async drop(id: string): Promise<AdminOutcome> {
    return this.#do('drop a retry', id, (job) => job.remove());
  }

  async close(): Promise<void> {
    const closing = this.#queue
      .getBackend()
      .close(true)
      .then(() => this.#queue.close());
    await within(closing, DISCONNECT_TIMEOUT_MS, 'disconnect').catch(() => undefined);
  }

  async #do(doing: string, id: string, deed: (job: Job<StoredRecord>) => Promise<unknown>): Promise<AdminOutcome> {
    const job = await this.#ask(doing, () => Job.fromId<StoredRecord>(this.#queue, id));
    if (job === undefined) return 'gone';
    try {
      await within(deed(job), this.#commandTimeoutMs, doing);
      return 'done';
    } catch (error) {
      const isThere = await this.#ask(doing, () => Job.fromId<StoredRecord>(this.#queue, id));
      if (isThere === undefined) return 'gone';
      if (isLostJob(error) || isLocked(error)) return 'busy';
      throw retryError(error, doing, this.#redis.server);
    }
  }

  async #read(id: string, state: WaitingState): Promise<WaitingRetry | undefined> {
    const job = await Job.fromId<StoredRecord>(this.#queue, id);
    if (job === undefined) return undefined;
    const record = readRecord(job.data);
    const dueAtMs = state === 'delayed' ? await this.#dueAt(id) : undefined;
    return {
      id,
      state,
      source: record?.source,
      index: record?.index,
      code: record === undefined ? undefined : job.data.code,
      stage: record === undefined ? undefined : job.data.stage,
      attempts: (record?.attempts ?? 0) + job.attemptsMade,
      atMs: job.timestamp,
      dueAtMs,
      message: record?.raw,
    };
  }

  async #dueAt(id: string): Promise<number | undefined> {
    const client = (await this.#queue.getBackend().client) as unknown as ScoreReader;
    const score = await client.zscore(this.#queue.toKey('delayed'), id);
    return score === null ? undefined : Math.floor(Number(score) / SCORE_UNITS_A_MS);
  }

  async #untilReady(signal?: AbortSignal): Promise<void> {
    let stop = (): void => {};
    let last: unknown;
    const refused = new Promise<never>((_, reject) => {
      stop = this.#trouble.listen((error) => {
        last = error;
        if (isHopeless(error)) reject(retryError(error, 'connect', this.#redis.server));
      });
    });
    refused.catch(() => undefined);
    try {
      const ready = Promise.race([this.#queue.waitUntilReady(), refused]);
      await within(ready, this.#connectTimeoutMs, 'reach the Redis of retries', signal);
    } catch (error) {
      throw retryError(
        signal?.aborted === true ? error : (last ?? error),
        'reach the Redis of retries',
        this.#redis.server,
      );
    } finally {
      stop();
    }
  }

  async #ask<T>(doing: string, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await within(call(), this.#commandTimeoutMs, doing, signal);
    } catch (error) {
      throw retryError(error, doing, this.#redis.server);
    }
  }
}

/** BullMQ's type of the client lists what BullMQ itself calls. */
type ScoreReader = { zscore(key: string, member: string): Promise<string | null> };
type ServerReader = {
  time(): Promise<readonly [seconds: string | number, micros: string | number]>;
  config(verb: 'GET', name: string): Promise<unknown>;
};

/** BullMQ throws a plain error for a job that it may not remove, and one of Redis has a code or a name of its own. */
function isLocked(error: unknown): boolean {
  return error instanceof Error && error.name === 'Error' && !('code' in error) && !('command' in error);
}
