/**
 * The connection to Redis: fails at once when Redis is away, comes back by itself, never queues.
 *
 * ioredis would otherwise keep commands in memory without bound and run them after their callers have given up. A command
 * that was under way when the connection broke is rejected, not sent again: whether it ran is unknown, and the caller's
 * retry is idempotent.
 */
import { Redis } from 'ioredis';
import type { ServingError } from '../../errors.ts';
import { backoffMs } from '../../resilience/backoff.ts';
import type { Log } from '../../telemetry/log.ts';
import { errorLabel, isHopeless, translateRedisError } from './errors.ts';
import type { ResolvedRedisOptions } from './options.ts';

const RECONNECT = { baseMs: 100, maxMs: 2_000 };

export class RedisConnection {
  readonly client: Redis;
  /** host:port, for messages. */
  readonly server: string;
  readonly #connectTimeoutMs: number;
  #lastError: unknown;

  /** `onReady` is called at each new connection, before any command of ours. */
  constructor(options: ResolvedRedisOptions, log: Log, onReady: () => void) {
    const { host, port, username, password, database, tls } = options.address;
    this.server = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.client = new Redis({
      ...{ host, port, username, password, db: database },
      ...(tls && { tls: { ...(options.tlsCa !== undefined && { ca: options.tlsCa }) } }),
      lazyConnect: true,
      protocol: 2,
      connectionName: 'rag-serving-sink',
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      connectTimeout: options.connectTimeoutMs,
      commandTimeout: options.commandTimeoutMs,
      // A peer that vanished without a word is noticed here, long before TCP does.
      socketTimeout: options.commandTimeoutMs + 1_000,
      retryStrategy: (attempt) => backoffMs(attempt, RECONNECT, Math.random()),
    });
    // Without a listener ioredis prints to the console, and an error event would end the process.
    this.client.on('error', (error: unknown) => {
      const isNews = errorLabel(error) !== errorLabel(this.#lastError);
      this.#lastError = error;
      if (isNews) log.warn('redis connection failed', { server: this.server, reason: errorLabel(error) });
    });
    this.client.on('ready', () => {
      this.#lastError = undefined;
      onReady();
    });
  }

  /** Resolves when Redis takes commands; rejects at the time limit, or at once when waiting cannot help. */
  async untilReady(signal?: AbortSignal): Promise<void> {
    if (this.client.status === 'ready') return;
    // Later attempts are ioredis's own: this only begins the first one.
    if (this.client.status === 'wait') this.client.connect().catch(() => undefined);
    await new Promise<void>((resolve, reject) => {
      const finish = (error?: ServingError) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.client.off('ready', onReady);
        this.client.off('error', onError);
        if (error === undefined) resolve();
        else reject(error);
      };
      const onReady = () => finish();
      const onError = (error: unknown) => {
        if (isHopeless(error)) finish(this.#translate(error));
      };
      const onAbort = () => finish(this.#translate(new Error('the caller stopped waiting')));
      const timer = setTimeout(
        () => finish(this.#translate(this.#lastError ?? new Error('no answer'))),
        this.#connectTimeoutMs,
      );
      this.client.on('ready', onReady);
      this.client.on('error', onError);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
      else if (isHopeless(this.#lastError)) onError(this.#lastError);
    });
  }

  /** Ends within the limit, also when Redis is away. */
  async close(maxWaitMs: number): Promise<void> {
    const { client } = this;
    if (client.status === 'ready') {
      const patience = new Promise<void>((resolve) => setTimeout(resolve, maxWaitMs).unref());
      await Promise.race([
        client.quit().then(
          () => undefined,
          () => undefined,
        ),
        patience,
      ]);
    }
    client.disconnect();
  }

  #translate(error: unknown): ServingError {
    return translateRedisError(error, 'connecting', this.server);
  }
}
