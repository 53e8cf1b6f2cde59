/**
 * Connections to PostgreSQL: a bounded pool, every call one transaction, every wait limited in the server and here.
 *
 * A call is sent whole (BEGIN, limits and lock, statement, COMMIT) before the first answer is read, so it costs one
 * round trip. Nothing is kept in a session, neither settings nor named statements: a pooler in transaction mode may
 * give each transaction another server connection.
 *
 * Surprising: a pipelined connection waits for its answers even to be closed. So the sockets are made here, and those
 * that are left at the time limit are destroyed.
 */
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ServingError } from '../../errors.ts';
import { backoffMs } from '../../resilience/backoff.ts';
import { Permits } from '../../resilience/permits.ts';
import type { Log } from '../../telemetry/log.ts';
import { errorLabel, isConflict } from './errors.ts';
import type { ResolvedPgVectorOptions } from './options.ts';
import { tlsOptions } from './tls.ts';

export type Statement = { readonly text: string; readonly values?: readonly unknown[] };
export type Row = Readonly<Record<string, unknown>>;
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

/** Who else may change the collection meanwhile: writers together, a deletion alone, readers do not ask. */
export type LockMode = 'shared' | 'exclusive' | 'none';

const TRIES = 4;
const CONFLICT_BACKOFF = { baseMs: 20, maxMs: 200 };
/** How much longer we wait than the server is told to. */
const GRACE_MS = 1_000;

export class PgConnection {
  /** host:port/database, for messages. */
  readonly server: string;
  readonly #pool: pg.Pool;
  readonly #permits: Permits;
  readonly #statementTimeoutMs: number;
  readonly #lockName: string;
  readonly #sockets = new Set<Socket>();
  #lastLabel: string | undefined;

  constructor(options: ResolvedPgVectorOptions, log: Log) {
    const { host, port, user, password, database, sslMode } = options.address;
    this.server = `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
    this.#statementTimeoutMs = options.statementTimeoutMs;
    this.#lockName = `rag-serving ${options.schema}.${options.table}`;
    this.#permits = new Permits(options.poolSize);
    this.#pool = new pg.Pool({
      ...{ host, port, user, database },
      // Asked for only when the server wants one; a missing one must not come from PGPASSWORD or a file.
      password: () => password ?? this.#noPassword(),
      ssl: sslMode === 'disable' ? false : tlsOptions(sslMode, options),
      max: options.poolSize,
      connectionTimeoutMillis: options.connectTimeoutMs,
      idleTimeoutMillis: 60_000,
      query_timeout: options.statementTimeoutMs + GRACE_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: 'rag-serving-sink',
      client_encoding: 'UTF8',
      pipeline: true,
      stream: () => this.#socket(),
    } as pg.PoolConfig);
    const onError = (error: unknown) => {
      const label = errorLabel(error);
      if (label !== this.#lastLabel) log.warn('postgres connection failed', { server: this.server, reason: label });
      this.#lastLabel = label;
    };
    // Without listeners an error event would end the process: the pool's are those of idle connections only.
    this.#pool.on('error', onError);
    this.#pool.on('connect', (client) => {
      this.#lastLabel = undefined;
      client.on('error', onError);
    });
  }

  /** One statement in a transaction of its own, in one round trip; tried again when others were in the way. */
  async transaction(lock: LockMode, statement: Statement): Promise<readonly Row[]> {
    return this.#withRetries(() => this.#withClient((client) => this.#send(client, lock, statement)));
  }

  /** Several statements in one transaction, for what must be read before it is written. */
  async session<T>(lock: LockMode, lockName: string | undefined, work: (query: Query) => Promise<T>): Promise<T> {
    return this.#withRetries(() =>
      this.#withClient(async (client) => {
        const query: Query = async (text, values) => (await client.query<Row>(text, values as unknown[])).rows;
        await query(BEGIN);
        try {
          await query(...this.#limits(lock, lockName));
          const result = await work(query);
          await commit(client);
          return result;
        } catch (error) {
          // One that cannot roll back is broken, and its next use says so.
          await query('ROLLBACK').catch(() => undefined);
          throw error;
        }
      }),
    );
  }

  /** Ends within the limit, also when PostgreSQL is away or silent. */
  async close(maxWaitMs: number): Promise<void> {
    const ended = this.#pool.end().catch(() => undefined);
    const patience = new AbortController();
    await Promise.race([ended, sleep(maxWaitMs, undefined, { signal: patience.signal }).catch(() => undefined)]);
    patience.abort();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #send(client: pg.PoolClient, lock: LockMode, { text, values }: Statement): Promise<readonly Row[]> {
    const [limits, limitValues] = this.#limits(lock, undefined);
    // All are sent at once. After an error the later ones fail too, and COMMIT rolls back.
    const answers = await Promise.allSettled([
      client.query(BEGIN),
      client.query(limits, limitValues as unknown[]),
      client.query<Row>(text, values as unknown[] | undefined),
      commit(client),
    ]);
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const [, , answer] = answers;
    return answer.status === 'fulfilled' ? answer.value.rows : [];
  }

  /** For this transaction only. A client that stops in the middle of one must not keep its locks. */
  #limits(lock: LockMode, lockName: string | undefined): [text: string, values: readonly unknown[]] {
    const settings = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    const timeouts = settings.map((name) => `set_config('${name}', $1, true)`).join(', ');
    const timeout = `${this.#statementTimeoutMs}ms`;
    if (lock === 'none') return [`SELECT ${timeouts}`, [timeout]];
    const take = lock === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock';
    return [`SELECT ${timeouts}, ${take}(hashtextextended($2, 0))`, [timeout, lockName ?? this.#lockName]];
  }

  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const release = await this.#permits.acquire();
    try {
      const client = await this.#pool.connect();
      try {
        const result = await work(client);
        client.release();
        return result;
      } catch (error) {
        // After an answer of the server the connection is sound; after anything else it is not.
        client.release(error instanceof pg.DatabaseError && error.severity !== 'FATAL' ? undefined : true);
        throw error;
      }
    } finally {
      release();
    }
  }

  async #withRetries<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt === TRIES || !isConflict(error)) throw error;
        await sleep(backoffMs(attempt, CONFLICT_BACKOFF, Math.random()));
      }
    }
  }

  #socket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  #noPassword(): never {
    throw new ServingError(
      'SINK_ACCESS_DENIED',
      `PostgreSQL at ${this.server} wants a password: put one into RAG_SERVING_PGVECTOR_URL`,
    );
  }
}

/** Read committed, whatever the database's default is: a statement must see what was done before it got its lock. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT');
  // PostgreSQL answers a COMMIT of a failed transaction with a success that says so.
  if (command !== 'COMMIT') throw new ServingError('SINK_UNAVAILABLE', 'PostgreSQL rolled the transaction back');
}
