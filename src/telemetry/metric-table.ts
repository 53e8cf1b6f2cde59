/**
 * Every metric of the worker: name, type, unit, meaning, labels with the values they may take. docs/metrics.md is written
 * from this table, and rules and dashboards are checked against it. Data only.
 */
import { errorCodes } from '../errors.ts';
import { phases } from '../lifecycle/phase.ts';
import { breakerStates } from '../resilience/breaker.ts';
import { grpcCodes, type MetricSpec, OTHER } from './metric-spec.ts';
import { readinessMetrics } from './readiness-metric-table.ts';
import { storeMetrics } from './store-metric-table.ts';

const results = ['ok', 'failed'] as const;
const stages = ['decode', 'embed', 'persist', 'delete', 'retry', 'dead_letter', 'commit'] as const;
const codes = [...errorCodes, OTHER] as const;
/** A consumer owns some of a topic's partitions; it has rarely more than this at a time. */
const partition = { atMost: 256 } as const;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
const RATIOS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1] as const;

export const workerMetrics = {
  chunks: {
    type: 'counter',
    name: 'chunks_total',
    unit: 'chunks',
    help: 'Records by how their journey ended',
    labels: { outcome: ['persisted', 'deleted', 'superseded', 'handed-over', 'dead-lettered', 'abandoned'] },
  },
  batches: {
    type: 'counter',
    name: 'batches_total',
    unit: 'calls',
    // A failed call is `other`: the way is known only once it has been taken.
    help: 'Inference calls by the way their tensors took; that of a failed one is other',
    labels: { transport: ['shared_memory', 'inline', OTHER], result: results },
  },
  batchFillRatio: {
    type: 'histogram',
    name: 'batch_fill_ratio',
    unit: 'ratio',
    help: 'Texts in a batch as a share of its capacity',
    labels: {},
    buckets: RATIOS,
  },
  batchPaddingRatio: {
    type: 'histogram',
    name: 'batch_padding_ratio',
    unit: 'ratio',
    help: 'Share of a batch that is padding when every text is padded to the longest, reckoned in bytes of text',
    labels: {},
    buckets: RATIOS,
  },
  batchesClosed: {
    type: 'counter',
    name: 'batches_closed_total',
    unit: 'batches',
    help: 'Batches by what closed them',
    labels: { reason: ['items', 'bytes', 'wait', 'flush', 'retry'] },
  },
  stageDuration: {
    type: 'histogram',
    name: 'stage_duration_seconds',
    unit: 'seconds',
    help: 'Time of one attempt at a stage; decode is that of one fetched batch',
    labels: { stage: stages, result: results },
    buckets: SECONDS,
  },
  stageErrors: {
    type: 'counter',
    name: 'stage_errors_total',
    unit: 'attempts',
    help: 'Failed attempts by error',
    labels: { stage: stages, code: codes },
  },
  shmSlots: {
    type: 'gauge',
    name: 'shm_slots',
    unit: 'slots',
    help: 'Shared-memory slots by state',
    labels: { state: ['free', 'leased', 'quarantined'] },
  },
  inFlightChunks: {
    type: 'gauge',
    name: 'in_flight_chunks',
    unit: 'chunks',
    help: 'Chunks between poll and commit',
    labels: {},
  },
  inFlightBytes: {
    type: 'gauge',
    name: 'in_flight_bytes',
    unit: 'bytes',
    help: 'Bytes of messages between poll and commit',
    labels: {},
  },
  commits: {
    type: 'counter',
    name: 'commits_total',
    unit: 'commits',
    help: 'Offset commits',
    labels: { result: results },
  },
  committedOffset: {
    type: 'gauge',
    name: 'committed_offset',
    unit: 'offset',
    help: 'Next offset to read, as the broker holds it, of the partitions that are ours',
    labels: { partition },
  },
  consumerLag: {
    type: 'gauge',
    name: 'consumer_lag_messages',
    unit: 'messages',
    help: 'Messages behind the committed offset, asked of the broker, of the partitions that are ours',
    labels: { partition },
  },
  consumerLagAge: {
    type: 'gauge',
    name: 'consumer_lag_age_seconds',
    unit: 'seconds',
    help: 'Time since the broker last told the lag',
    labels: {},
  },
  deadLetters: {
    type: 'counter',
    name: 'dead_letters_total',
    unit: 'chunks',
    help: 'Chunks sent to the dead-letter topic',
    labels: { code: codes },
  },
  sinkRows: {
    type: 'counter',
    name: 'sink_rows_total',
    unit: 'rows',
    help: 'Rows by what the store did with them',
    labels: { outcome: ['stored', 'superseded', 'refused'] },
  },
  retries: {
    type: 'gauge',
    name: 'retries',
    unit: 'chunks',
    help: 'Chunks in the durable retry queue of this group and collection, of all workers, by state',
    labels: { state: ['delayed', 'waiting', 'active'] },
  },
  retryMessagesGone: {
    type: 'counter',
    name: 'retry_messages_gone_total',
    unit: 'chunks',
    help: 'Retries given up because Kafka no longer had their message',
    labels: {},
  },
  rebalances: {
    type: 'counter',
    name: 'rebalances_total',
    unit: 'rebalances',
    help: 'Times the consumer joined its group',
    labels: {},
  },
  assignmentEpoch: {
    type: 'gauge',
    name: 'assignment_epoch',
    unit: 'epoch',
    help: 'Counts memberships that began or ended in this process; work of an older one changes nothing',
    labels: {},
  },
  assignedPartitions: {
    type: 'gauge',
    name: 'assigned_partitions',
    unit: 'partitions',
    help: 'Partitions that are ours',
    labels: {},
  },
  consumerJoined: {
    type: 'gauge',
    name: 'consumer_joined',
    unit: 'boolean',
    help: '1 while a member of the group',
    labels: {},
  },
  sourcePaused: {
    type: 'gauge',
    name: 'source_paused',
    unit: 'boolean',
    help: '1 while fetching is paused for any reason',
    labels: {},
  },
  partitionsWaiting: {
    type: 'gauge',
    name: 'partitions_waiting',
    unit: 'partitions',
    help: 'Partitions that are not fetched, by what they wait for',
    labels: { reason: { atMost: 8 } },
  },
  offsetResets: {
    type: 'counter',
    name: 'offset_resets_total',
    unit: 'resets',
    help: 'Times that the offset to read was not in the log',
    labels: { kind: ['deleted', 'truncated'] },
  },
  offsetsGone: {
    type: 'counter',
    name: 'offsets_gone_total',
    unit: 'offsets',
    help: 'Offsets deleted from the log before they were read',
    labels: {},
  },
  spotNotices: {
    type: 'counter',
    name: 'spot_notices_total',
    unit: 'notices',
    help: 'Notices of a vanishing machine',
    labels: {
      provider: ['aws', 'gcp', 'azure', 'file', 'url'],
      kind: ['interruption', 'rebalance', 'maintenance'],
    },
  },
  drainDuration: {
    type: 'gauge',
    name: 'drain_duration_seconds',
    unit: 'seconds',
    help: 'Time the drain has taken so far',
    labels: {},
  },
  drainAbandoned: {
    type: 'gauge',
    name: 'drain_abandoned_chunks',
    unit: 'chunks',
    help: 'Chunks that did not fit into the drain; read again',
    labels: {},
  },
  watchdogActions: {
    type: 'counter',
    name: 'watchdog_actions_total',
    unit: 'actions',
    help: 'What the watchdog did about a standstill',
    labels: {
      finding: ['channel-wedged', 'consumer-silent', 'consumer-idle', 'pipeline-stalled'],
      action: ['rebuild', 'stop'],
    },
  },
  grpcCalls: {
    type: 'counter',
    name: 'grpc_calls_total',
    unit: 'calls',
    help: 'Calls to the model server by status',
    labels: { method: { atMost: 32 }, code: grpcCodes },
  },
  breakerState: {
    type: 'gauge',
    name: 'breaker_state',
    unit: 'boolean',
    help: '1 for the state that the breaker of a model server is in',
    labels: { endpoint: { atMost: 64 }, state: breakerStates },
  },
  phase: {
    type: 'gauge',
    name: 'phase',
    unit: 'boolean',
    help: '1 for the phase the process is in',
    labels: { phase: phases },
  },
  ...readinessMetrics,
  ...storeMetrics,
  eventLoopLag: {
    type: 'gauge',
    name: 'event_loop_lag_seconds',
    unit: 'seconds',
    help: 'Delay of the event loop over the last 30 to 60 seconds',
    labels: { statistic: ['p50', 'p99', 'max'] },
  },
  buildInfo: {
    type: 'gauge',
    name: 'build_info',
    unit: 'boolean',
    help: 'Always 1; its labels say what runs',
    labels: { version: { atMost: 1 }, node: { atMost: 1 } },
  },
  droppedValues: {
    type: 'counter',
    name: 'telemetry_dropped_values_total',
    unit: 'values',
    help: 'Values that were no usable numbers, and readings that failed',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>;
