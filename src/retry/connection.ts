/**
 * How BullMQ reaches Redis, and what is known about that. Commands fail at once while Redis is away and end at a limit when
 * it is silent; reconnecting goes on for ever.
 *
 * Surprising: BullMQ gives up on a client for good when its FIRST connection fails, so it is never begun lazily and never
 * runs out of attempts. Its version check is off: it asks before Redis may be ready and prints warnings past our logger.
 */
import type { RedisOptions } from 'bullmq';
import { retrySettings } from '../config/sections/retry.ts';
import { backoffMs } from '../resilience/backoff.ts';
import { parseRedisUrl } from '../sinks/redis/url.ts';
import type { Log } from '../telemetry/log.ts';
import { labelOf } from './redis-errors.ts';

export type RetryRedisOptions = {
  /** `redis://` or, with TLS, `rediss://`; holds the password, never shown. */
  readonly url: string;
  /** PEM text of the certificate authority of a `rediss://` server, where the system does not know it. */
  readonly tlsCa: string | undefined;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
};

const DISCONNECT_TIMEOUT_MS = 200;
const RECONNECT = { baseMs: 100, maxMs: 2_000 };

export type RetryRedis = {
  /** host:port, for messages. */
  readonly server: string;
  readonly connection: RedisOptions;
};

export function retryRedis({ url, tlsCa, connectTimeoutMs, commandTimeoutMs }: RetryRedisOptions): RetryRedis {
  const { host, port, username, password, database, tls } = parseRedisUrl(url, retrySettings.redisUrl.name);
  return {
    server: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
    connection: {
      ...{ host, port, db: database },
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(tls && { tls: { ...(tlsCa !== undefined && { ca: tlsCa }) } }),
      protocol: 2,
      lazyConnect: false,
      skipVersionCheck: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      // Null for the connection that BullMQ's worker blocks on: it sets that itself.
      maxRetriesPerRequest: 0,
      connectTimeout: connectTimeoutMs,
      commandTimeout: commandTimeoutMs,
      // A peer that vanished without a word is noticed here, long before TCP does.
      socketTimeout: commandTimeoutMs + 1_000,
      // Otherwise a process that has closed its connections stays for two seconds more.
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
      // After a failover by DNS the old primary still answers, as a replica: only a new connection finds the new one.
      reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
      retryStrategy: (attempt: number) => Math.round(backoffMs(attempt, RECONNECT, Math.random())),
    },
  };
}

type Client = { on(event: 'error', listener: () => void): unknown };

/**
 * BullMQ stops listening before its connection has ended, and ioredis prints an error that nobody listens to, past our logger.
 * What such an error says while we listen is told by BullMQ.
 */
export function keepQuiet(client: Promise<Client> | undefined): void {
  client?.then(
    (connected) => connected.on('error', () => undefined),
    () => undefined,
  );
}

/** Tells each new trouble of a connection once, and remembers the last for whoever waits for it. */
export class ConnectionTrouble {
  readonly #log: Log;
  readonly #server: string;
  readonly #listeners = new Set<(error: unknown) => void>();
  #label: string | undefined;

  constructor(server: string, log: Log) {
    this.#server = server;
    this.#log = log;
  }

  get present(): boolean {
    return this.#label !== undefined;
  }

  note(error: unknown): void {
    const label = labelOf(error);
    if (label !== this.#label) {
      this.#log.warn('trouble with the Redis of retries', { server: this.#server, reason: label });
    }
    this.#label = label;
    for (const listener of this.#listeners) listener(error);
  }

  over(): void {
    if (this.#label !== undefined) this.#log.info('the Redis of retries answers again', { server: this.#server });
    this.#label = undefined;
  }

  /** Returns the function that stops listening. */
  listen(listener: (error: unknown) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
