/** What happens in a client, told to whoever counts: its own statistics, and metrics where the host has a registry. Never texts. */
import type { ErrorCode } from '../src/errors.ts';
import type { BreakerStateName } from '../src/resilience/breaker.ts';
import type { DegradedReason } from './degraded.ts';

export type PoolName = 'embed' | 'rerank';
export type Operation = PoolName | 'search';
/** `degraded`: answered, in the incoming order. */
export type CallEnd = 'ok' | 'degraded' | ErrorCode;

export type OnlineEvents = {
  ended(operation: Operation, end: CallEnd, ms: number): void;
  degraded(reason: DegradedReason): void;
  /** Requests to the model server that are under way: one more or one fewer. */
  inFlight(pool: PoolName, change: 1 | -1): void;
  breaker(pool: PoolName, endpoint: string, state: BreakerStateName): void;
  /** The server is no longer one of the pool: its name has another address now. */
  left(pool: PoolName, endpoint: string): void;
  /** A call to the model server has ended, with the name of a gRPC status. */
  asked(pool: PoolName, method: string, status: string): void;
  /** A text was longer than the limit and has been cut. */
  cut(pool: PoolName): void;
};

export function tellAll(listeners: readonly OnlineEvents[]): OnlineEvents {
  if (listeners.length === 1) return listeners[0]!;
  return {
    ended: (...of) => listeners.forEach((one) => void one.ended(...of)),
    degraded: (...of) => listeners.forEach((one) => void one.degraded(...of)),
    inFlight: (...of) => listeners.forEach((one) => void one.inFlight(...of)),
    breaker: (...of) => listeners.forEach((one) => void one.breaker(...of)),
    left: (...of) => listeners.forEach((one) => void one.left(...of)),
    asked: (...of) => listeners.forEach((one) => void one.asked(...of)),
    cut: (...of) => listeners.forEach((one) => void one.cut(...of)),
  };
}
