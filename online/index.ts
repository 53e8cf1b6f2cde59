/** Public surface for the search side. Everything not listed here is private. */
export { type ErrorCode, type FailureClass, isServingError, ServingError } from '../src/errors.ts';
export type { BreakerStateName } from '../src/resilience/breaker.ts';
export type { Log, LogFields } from '../src/telemetry/log.ts';
export type { MetricsRegistry } from '../src/telemetry/online-metrics.ts';
export type { CallLimits } from './budget.ts';
export { createOnline, type OnlineHost } from './create.ts';
export { type DegradedReason, degradedReasons } from './degraded.ts';
export type { Operation, PoolName } from './events.ts';
export { DEFAULT_RRF_K, type FusedResult, type FuseOptions, fuse } from './fuse.ts';
export type { OnlineHealth, PoolHealth } from './health.ts';
export type { Embedded, EmbeddedQuery, Online, Reranked, RerankOptions, Timing } from './online.ts';
export type { Candidate, Ranked } from './rrf.ts';
export type { Retrieve, RetrieveLimits, SearchOptions, SearchResult } from './search.ts';
export type { OnlineEnv, OnlineOptions, PoolOptions, TlsOptions } from './settings.ts';
export type { OnlineStats, OperationStats, PoolStats } from './stats.ts';
