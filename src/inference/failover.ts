/**
 * One call over the connections of a pool: one that finds no connection goes on to the next within the same deadline; every
 * other error is the answer. Servers whose breaker is open are passed over.
 */
import { type ErrorCode, isServingError, ServingError } from '../errors.ts';
import type { Breaker, BreakerTicket } from '../resilience/breaker.ts';
import type { Choice, Connection, EndpointPool, Tried } from './endpoint-pool.ts';

/**
 * `guards`: an inference, which is not made while the breaker is open. `tells`: what comes before one, the registration of
 * shared memory; its failures count, and it is made all the same. `none`: whether a server is well is asked also while it is not.
 */
export type BreakerUse = 'guards' | 'tells' | 'none';

export type Failover = {
  /** Name of the method, for messages. */
  readonly method: string;
  readonly breaker: BreakerUse;
  /** Milliseconds on the clock of `performance.now()`. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
};

const UNCOUNTED: BreakerTicket = { succeeded: () => {}, failed: () => {}, ignored: () => {} };

/** Rejects with BREAKER_OPEN, which says in `details.retryInMs` when to ask again, or with the error of the last connection. */
export async function acrossConnections<T>(
  pool: EndpointPool,
  { method, breaker: use, deadlineMs, signal }: Failover,
  call: (connection: Connection) => Promise<T>,
): Promise<T> {
  let lost: unknown;
  let retryInMs = Number.POSITIVE_INFINITY;
  let tried: Tried | undefined;
  let choice: Choice | undefined = pool.choose(performance.now());
  if (choice === undefined && !pool.closed) {
    await pool.someServer(method, deadlineMs, signal);
    choice = pool.choose(performance.now());
  }
  for (; choice !== undefined; choice = pool.choose(performance.now(), tried)) {
    const { member, connection } = choice;
    if (pool.closed) break;
    const { breaker } = connection;
    const ticket = ticketFor(use, breaker);
    if (ticket === undefined) {
      retryInMs = Math.min(retryInMs, breaker.retryInMs(performance.now()));
      tried ??= nothingTried();
      tried.members.add(member);
      continue;
    }
    connection.begin();
    try {
      const answer = await call(connection);
      ticket.succeeded();
      return answer;
    } catch (error) {
      giveBack(ticket, error, pool.failureCodes);
      if (!isServingError(error, 'INFERENCE_UNAVAILABLE') || signal?.aborted === true) throw error;
      pool.lost(performance.now());
      lost = error;
      tried ??= nothingTried();
      tried.connections.add(connection);
    } finally {
      connection.end();
    }
  }
  if (pool.closed) throw new ServingError('INFERENCE_UNAVAILABLE', `${method}: the client is closed`);
  if (lost !== undefined) throw lost;
  throw new ServingError('BREAKER_OPEN', `${method}: no server is asked for a while, for all have failed`, {
    details: { retryInMs: Math.ceil(retryInMs) },
  });
}

function ticketFor(use: BreakerUse, breaker: Breaker): BreakerTicket | undefined {
  if (use === 'none') return UNCOUNTED;
  const ticket = breaker.enter(performance.now());
  if (ticket !== undefined || use === 'guards') return ticket;
  return { ...UNCOUNTED, succeeded: () => breaker.signOfLife() };
}

function nothingTried(): Tried {
  return { connections: new Set(), members: new Set() };
}

function giveBack(ticket: BreakerTicket, error: unknown, failureCodes: readonly ErrorCode[]): void {
  if (isServingError(error) && failureCodes.includes(error.code)) ticket.failed(performance.now(), Math.random());
  else if (isServingError(error, 'INFERENCE_CANCELLED')) ticket.ignored();
  else ticket.succeeded();
}
