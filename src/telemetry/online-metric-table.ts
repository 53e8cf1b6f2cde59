/** Every metric of the online module, as metric-table.ts has those of the worker. Data only. */
import { errorCodes } from '../errors.ts';
import { breakerStates } from '../resilience/breaker.ts';
import { grpcCodes, type MetricSpec, OTHER } from './metric-spec.ts';

export const onlinePools = ['embed', 'rerank'] as const;
/** A search is a call of its own, which uses both pools. */
export const onlineOperations = [...onlinePools, 'search'] as const;
export const onlineOutcomes = ['ok', 'degraded', ...errorCodes, OTHER] as const;

const SECONDS = [
  0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.035, 0.04, 0.05, 0.075, 0.1, 0.25, 1,
] as const;

export const onlineMetrics = {
  calls: {
    type: 'counter',
    name: 'online_calls_total',
    unit: 'calls',
    help: 'Calls by where their answer came from and how they ended',
    labels: { pool: onlineOperations, source: ['model', 'rrf', 'none'], outcome: onlineOutcomes },
  },
  duration: {
    type: 'histogram',
    name: 'online_call_duration_seconds',
    unit: 'seconds',
    help: 'Time of a call as its caller sees it',
    labels: { pool: onlineOperations },
    buckets: SECONDS,
  },
  degradations: {
    type: 'counter',
    name: 'online_degraded_total',
    unit: 'calls',
    help: 'Reranks that came back in the incoming order, by why',
    labels: { reason: { atMost: 16 } },
  },
  underWay: {
    type: 'gauge',
    name: 'online_requests_in_flight',
    unit: 'requests',
    help: 'Requests to the model server that are under way',
    labels: { pool: onlinePools },
  },
  breakers: {
    type: 'counter',
    name: 'online_breaker_changes_total',
    unit: 'changes',
    help: 'Changes of the breaker of an endpoint, by its new state',
    labels: { pool: onlinePools, endpoint: { atMost: 64 }, state: breakerStates },
  },
  grpcCalls: {
    type: 'counter',
    name: 'online_grpc_calls_total',
    unit: 'calls',
    help: 'Calls to the model server by status; those on a stream have none and are counted by what became of them',
    labels: { pool: onlinePools, method: { atMost: 32 }, code: grpcCodes },
  },
  cuts: {
    type: 'counter',
    name: 'online_cut_texts_total',
    unit: 'texts',
    help: 'Texts that were longer than the limit and have been cut',
    labels: { pool: onlinePools },
  },
} as const satisfies Record<string, MetricSpec>;
