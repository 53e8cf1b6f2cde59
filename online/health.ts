/** Whether a client can do its work now, pool by pool. */
import type { BreakerStateName } from '../src/resilience/breaker.ts';
import type { ModelContract, ModelPool } from './model-pool.ts';

export type PoolHealth = {
  /** The model has been seen and warmed up, and not every server is being left alone. */
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly reason: string | undefined;
  readonly model: string | undefined;
  readonly fingerprint: string | undefined;
  /** By server: an endpoint, or one address of a `dns://` name. */
  readonly breakers: Readonly<Record<string, BreakerStateName>>;
};

export type OnlineHealth = {
  /** `degraded`: queries are embedded, candidates come back in the incoming order. */
  readonly status: 'ready' | 'degraded' | 'not-ready';
  readonly embed: PoolHealth;
  /** Undefined when reranking is switched off. */
  readonly rerank: PoolHealth | undefined;
};

export function poolHealth<C extends ModelContract>(
  pool: ModelPool<C>,
  breakers: Readonly<Record<string, BreakerStateName>>,
  fingerprint: string | undefined,
): PoolHealth {
  const states = Object.values(breakers);
  const reason = pool.closed
    ? 'the client is closed'
    : pool.fault !== undefined
      ? pool.fault.message
      : pool.contract === undefined
        ? 'the model has not been seen yet'
        : states.length > 0 && states.every((state) => state === 'open')
          ? 'the model server failed too often and is left alone for a while'
          : undefined;
  return { ready: reason === undefined, reason, model: pool.contract?.modelName, fingerprint, breakers };
}
