/**
 * The table of all metrics of this process: name, kind, meaning, labels. One registry an instance, never the global one,
 * so that two instances in one process neither collide nor count for each other.
 */
import { collectDefaultMetrics, Registry } from 'prom-client';
import { errorCodes } from '../errors.ts';
import { watchEventLoop } from './event-loop.ts';
import { counter, gauge, histogram, type LabelRules, OTHER, type SeriesOptions } from './metric-series.ts';

const outcomes = ['persisted', 'deleted', 'superseded', 'handed-over', 'dead-lettered', 'abandoned'] as const;
const stages = ['decode', 'embed', 'persist', 'delete', 'retry', 'dead_letter', 'commit'] as const;
/** A failed call is `other`: the way is known only once it has been taken. */
const transports = ['shared_memory', 'inline', OTHER] as const;
const codes = [...errorCodes, OTHER] as const;
const breakerStates = ['closed', 'half-open', 'open'] as const;
const phases = ['starting', 'running', 'draining', 'stopped', 'failed'] as const;
const grpcCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;
/** A consumer owns some of a topic's partitions; a topic has rarely more than this. */
const partition = { atMost: 256 } as const;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const RATIOS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1];

export type MetricsOptions = {
  /** A label on every series. */
  readonly pool: string;
  /** Adds process_* and nodejs_* (memory, CPU, garbage collection). They watch the process until it ends. */
  readonly processMetrics?: boolean;
};

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics({ pool, processMetrics = false }: MetricsOptions) {
  const registry = new Registry();
  registry.setDefaultLabels({ pool });
  const onScrape = new Set<() => void>();

  let dropped = (): void => {};
  const about = <L extends LabelRules>(name: string, help: string, labels: L): SeriesOptions<L> => ({
    registry,
    name: `rag_serving_${name}`,
    help,
    labels,
    onDropped: () => dropped(),
  });
  const droppedValues = counter(about('telemetry_dropped_values_total', 'Values that were no usable numbers', {}));
  dropped = () => droppedValues.add({});

  const series = {
    chunks: counter(about('chunks_total', 'Records by how their journey ended', { outcome: outcomes })),
    batches: counter(
      about('batches_total', 'Inference calls by the way their tensors took', {
        transport: transports,
        result: ['ok', 'failed'],
      }),
    ),
    batchFillRatio: histogram({
      ...about('batch_fill_ratio', 'Texts in a batch as a share of its capacity', {}),
      buckets: RATIOS,
    }),
    batchesClosed: counter(about('batches_closed_total', 'Batches by what closed them', { reason: { atMost: 16 } })),
    stageDuration: histogram({
      ...about('stage_duration_seconds', 'Time of one attempt at a stage', { stage: stages, result: ['ok', 'failed'] }),
      buckets: SECONDS,
    }),
    stageErrors: counter(about('stage_errors_total', 'Failed attempts by error', { stage: stages, code: codes })),
    shmSlots: gauge(about('shm_slots', 'Shared-memory slots by state', { state: ['free', 'leased', 'quarantined'] })),
    inFlightChunks: gauge(about('in_flight_chunks', 'Chunks between poll and commit', {})),
    inFlightBytes: gauge(about('in_flight_bytes', 'Bytes of messages between poll and commit', {})),
    commits: counter(about('commits_total', 'Offset commits', { result: ['ok', 'failed'] })),
    committedOffset: gauge(
      about('committed_offset', 'Next offset to read, as acknowledged by the broker', { partition }),
    ),
    consumerLag: gauge(about('consumer_lag_messages', 'Messages behind the committed offset', { partition })),
    deadLetters: counter(about('dead_letters_total', 'Chunks sent to the dead-letter topic', { code: codes })),
    sinkRows: counter(
      about('sink_rows_total', 'Rows by what the store did with them', {
        outcome: ['stored', 'superseded', 'refused'],
      }),
    ),
    retries: gauge(
      about('retries', 'Chunks in the durable retry queue of this group and collection, of all workers, by state', {
        state: ['delayed', 'waiting', 'active'],
      }),
    ),
    retryMessagesGone: counter(
      about('retry_messages_gone_total', 'Retries given up because Kafka no longer had their message', {}),
    ),
    rebalances: counter(about('rebalances_total', 'Times the consumer joined its group', {})),
    consumerJoined: gauge(about('consumer_joined', '1 while a member of the group', {})),
    sourcePaused: gauge(about('source_paused', '1 while fetching is paused for any reason', {})),
    partitionsWaiting: gauge(
      about('partitions_waiting', 'Partitions that are not fetched, by what they wait for', { reason: { atMost: 8 } }),
    ),
    offsetResets: counter(
      about('offset_resets_total', 'Times that the offset to read was not in the log', {
        kind: ['deleted', 'truncated'],
      }),
    ),
    offsetsGone: counter(about('offsets_gone_total', 'Offsets deleted from the log before they were read', {})),
    spotNotices: counter(
      about('spot_notices_total', 'Notices of a vanishing machine', {
        provider: ['aws', 'gcp', 'azure', 'file', 'url'],
        kind: ['interruption', 'rebalance', 'maintenance'],
      }),
    ),
    drainDuration: gauge(about('drain_duration_seconds', 'Time the drain has taken so far', {})),
    drainAbandoned: gauge(about('drain_abandoned_chunks', 'Chunks that did not fit into the drain; read again', {})),
    watchdogActions: counter(
      about('watchdog_actions_total', 'What the watchdog did about a standstill', {
        finding: ['channel-wedged', 'consumer-silent', 'consumer-idle', 'pipeline-stalled'],
        action: ['rebuild', 'stop'],
      }),
    ),
    grpcCalls: counter(
      about('grpc_calls_total', 'Calls to the model server by status', { method: { atMost: 32 }, code: grpcCodes }),
    ),
    breakerState: gauge(
      about('breaker_state', '1 for the state that the breaker of a model server is in', {
        endpoint: { atMost: 64 },
        state: breakerStates,
      }),
    ),
    phase: gauge(about('phase', '1 for the phase the process is in', { phase: phases })),
    eventLoopLag: gauge(
      about('event_loop_lag_seconds', 'Delay of the event loop since the last scrape', {
        quantile: ['0.5', '0.99', '1'],
      }),
    ),
  };

  const loop = watchEventLoop();
  onScrape.add(() => {
    const lag = loop.take();
    series.eventLoopLag.set({ quantile: '0.5' }, lag.p50Seconds);
    series.eventLoopLag.set({ quantile: '0.99' }, lag.p99Seconds);
    series.eventLoopLag.set({ quantile: '1' }, lag.maxSeconds);
  });
  if (processMetrics) {
    collectDefaultMetrics({ register: registry });
    // These print NaN until their first sample; event_loop_lag_seconds says the same without.
    for (const { name } of registry.getMetricsAsArray()) {
      if (name.startsWith('nodejs_eventloop_lag_')) registry.removeSingleMetric(name);
    }
  }

  return {
    ...series,
    /** Runs before each scrape: the place to read gauges that others keep. */
    onScrape: (read: () => void): void => void onScrape.add(read),
    setPhase: (current: (typeof phases)[number]): void => {
      for (const phase of phases) series.phase.set({ phase }, phase === current ? 1 : 0);
    },
    setBreaker: (endpoint: string, current: (typeof breakerStates)[number]): void => {
      for (const state of breakerStates) series.breakerState.set({ endpoint, state }, state === current ? 1 : 0);
    },
    contentType: registry.contentType,
    /** The Prometheus text format. A reader that throws costs its own gauges, not the scrape. */
    render: async (): Promise<string> => {
      for (const read of onScrape) {
        try {
          read();
        } catch {
          dropped();
        }
      }
      return registry.metrics();
    },
    close: (): void => {
      loop.stop();
      onScrape.clear();
    },
  };
}
