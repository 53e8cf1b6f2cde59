/** Counts of one client since it was made, for the host to read. */
import type { ErrorCode } from '../src/errors.ts';
import type { BreakerStateName } from '../src/resilience/breaker.ts';
import type { DegradedReason } from './degraded.ts';
import type { CallEnd, OnlineEvents, Operation, PoolName } from './events.ts';

export type OperationStats = {
  readonly ok: number;
  readonly degraded: number;
  readonly failed: Readonly<Partial<Record<ErrorCode, number>>>;
};

export type PoolStats = {
  /** Requests to the model server that are under way. */
  readonly inFlight: number;
  readonly cutTexts: number;
  /** By server. */
  readonly breakers: Readonly<Record<string, BreakerStateName>>;
};

export type OnlineStats = Readonly<Record<Operation, OperationStats>> & {
  readonly degraded: Readonly<Partial<Record<DegradedReason, number>>>;
  readonly pools: Readonly<Record<PoolName, PoolStats>>;
};

export class StatsKeeper implements OnlineEvents {
  readonly #ends = { embed: new Tally<CallEnd>(), rerank: new Tally<CallEnd>(), search: new Tally<CallEnd>() };
  readonly #degraded = new Tally<DegradedReason>();
  readonly #inFlight = { embed: 0, rerank: 0 };
  readonly #cut = { embed: 0, rerank: 0 };
  readonly #breakers = {
    embed: new Map<string, BreakerStateName>(),
    rerank: new Map<string, BreakerStateName>(),
  };

  ended(operation: Operation, end: CallEnd): void {
    this.#ends[operation].add(end);
  }

  degraded(reason: DegradedReason): void {
    this.#degraded.add(reason);
  }

  inFlight(pool: PoolName, change: 1 | -1): void {
    this.#inFlight[pool] += change;
  }

  breaker(pool: PoolName, endpoint: string, state: BreakerStateName): void {
    this.#breakers[pool].set(endpoint, state);
  }

  left(pool: PoolName, endpoint: string): void {
    this.#breakers[pool].delete(endpoint);
  }

  /** Of no use to the host beside `ended`; the metrics count it. */
  asked(): void {}

  cut(pool: PoolName): void {
    this.#cut[pool]++;
  }

  read(): OnlineStats {
    return {
      embed: this.#operation('embed'),
      rerank: this.#operation('rerank'),
      search: this.#operation('search'),
      degraded: this.#degraded.read(),
      pools: { embed: this.#pool('embed'), rerank: this.#pool('rerank') },
    };
  }

  #operation(operation: Operation): OperationStats {
    const { ok = 0, degraded = 0, ...failed } = this.#ends[operation].read();
    return { ok, degraded, failed };
  }

  #pool(pool: PoolName): PoolStats {
    return {
      inFlight: this.#inFlight[pool],
      cutTexts: this.#cut[pool],
      breakers: Object.fromEntries(this.#breakers[pool]),
    };
  }
}

class Tally<K extends string> {
  readonly #counts = new Map<K, number>();

  add(key: K): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  read(): Partial<Record<K, number>> {
    return Object.fromEntries(this.#counts) as Partial<Record<K, number>>;
  }
}
