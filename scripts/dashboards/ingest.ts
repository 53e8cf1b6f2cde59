/** The dashboard of pool C: is there a backlog, does it shrink, and what is in the way. */
import type { DashboardSpec } from './dashboard.ts';
import { tritonRow } from './gpu-panels.ts';

const of = '{job=~"$job"}';
const rate = (name: string, by: string, labels = 'job=~"$job"') =>
  `sum by (${by}) (rate(${name}{${labels}}[$__rate_interval]))`;
const quantile = (q: number, name: string, by: string) =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${name}_bucket${of}[$__rate_interval])))`;
const share = (name: string) => `${rate(`${name}_sum`, 'job')} / ${rate(`${name}_count`, 'job')}`;

export const ingestDashboard: DashboardSpec = {
  uid: 'rag-serving-ingest',
  title: 'RAG serving: ingestion',
  description: 'Chunks from Kafka through the model into the store.',
  jobsOf: 'rag_serving_phase',
  rows: [
    {
      title: 'At a glance',
      panels: [
        {
          title: 'Stored',
          description: 'Chunks a second, all workers. The aim with a backlog is 40,000.',
          kind: 'stat',
          unit: 'cps',
          queries: [[`sum(rate(rag_serving_chunks_total{job=~"$job",outcome="persisted"}[$__rate_interval]))`, '']],
        },
        {
          title: 'Lag',
          description: 'Messages behind what the broker has committed.',
          kind: 'stat',
          unit: 'short',
          queries: [[`sum(rag_serving_consumer_lag_messages${of})`, '']],
        },
        {
          title: 'Workers running',
          description: 'Workers in the phase running, and members of the group.',
          kind: 'stat',
          unit: 'short',
          queries: [
            [`sum(rag_serving_phase{job=~"$job",phase="running"})`, 'running'],
            [`sum(rag_serving_consumer_joined${of})`, 'joined'],
          ],
        },
        {
          title: 'Breakers not closed',
          description: 'Model servers that are not asked for the moment.',
          kind: 'stat',
          unit: 'short',
          queries: [[`count(rag_serving_breaker_state{job=~"$job",state="closed"} == 0) or vector(0)`, '']],
          alarmAt: 1,
        },
        {
          title: 'Dead letters, 1 h',
          description: 'Chunks that were set aside.',
          kind: 'stat',
          unit: 'short',
          queries: [[`sum(increase(rag_serving_dead_letters_total${of}[1h]))`, '']],
          alarmAt: 1,
        },
        {
          title: 'Retries waiting',
          description: 'Chunks in the durable retry queue. Every worker shows the whole queue.',
          kind: 'stat',
          unit: 'short',
          queries: [[`max by (state) (rag_serving_retries${of})`, '{{state}}']],
        },
      ],
    },
    {
      title: 'Throughput and lag',
      panels: [
        {
          title: 'Chunks by outcome',
          description: 'How journeys ended.',
          unit: 'cps',
          stacked: true,
          queries: [[rate('rag_serving_chunks_total', 'outcome'), '{{outcome}}']],
        },
        {
          title: 'Lag by partition',
          description: 'One partition that stands out holds a slow or dead worker, or a hot key.',
          unit: 'short',
          queries: [[`sum by (partition) (rag_serving_consumer_lag_messages${of})`, '{{partition}}']],
        },
        {
          title: 'Commit points',
          description: 'Offsets committed a second, by partition. A flat one stands still.',
          unit: 'cps',
          queries: [[`sum by (partition) (deriv(rag_serving_committed_offset${of}[5m]))`, '{{partition}}']],
        },
        {
          title: 'In flight',
          description: 'Chunks between poll and commit. At the limit fetching pauses.',
          unit: 'short',
          queries: [[`sum by (instance) (rag_serving_in_flight_chunks${of})`, '{{instance}}']],
        },
        {
          title: 'Paused, waiting',
          description: 'Workers that fetch nothing, and partitions that wait, by reason.',
          unit: 'short',
          queries: [
            [`sum(rag_serving_source_paused${of})`, 'paused workers'],
            [`sum by (reason) (rag_serving_partitions_waiting${of})`, '{{reason}}'],
          ],
        },
        {
          title: 'Age of the lag',
          description: 'Since when the broker has not told it. The numbers beside are that old.',
          unit: 's',
          queries: [[`rag_serving_consumer_lag_age_seconds${of}`, '{{instance}}']],
          alarmAt: 120,
        },
      ],
    },
    {
      title: 'Stages',
      panels: [
        {
          title: 'P99 of a stage',
          description: 'One attempt. The store is usually the dearest.',
          unit: 's',
          queries: [[quantile(0.99, 'rag_serving_stage_duration_seconds', 'stage'), '{{stage}}']],
        },
        {
          title: 'Failed attempts',
          description: 'By stage and error.',
          unit: 'cps',
          stacked: true,
          queries: [[rate('rag_serving_stage_errors_total', 'stage, code'), '{{stage}} {{code}}']],
        },
        {
          title: 'Calls to the model server',
          description: 'By gRPC status.',
          unit: 'reqps',
          queries: [[rate('rag_serving_grpc_calls_total', 'method, code'), '{{method}} {{code}}']],
        },
        {
          title: 'Batches by transport',
          description: 'Inline costs CPU; shared memory is the aim.',
          unit: 'reqps',
          stacked: true,
          queries: [[rate('rag_serving_batches_total', 'transport, result'), '{{transport}} {{result}}']],
        },
        {
          title: 'Fill and padding',
          description: 'Mean share of a batch that holds texts, and of its tokens that are padding.',
          unit: 'percentunit',
          queries: [
            [share('rag_serving_batch_fill_ratio'), 'filled'],
            [share('rag_serving_batch_padding_ratio'), 'padding'],
          ],
        },
        {
          title: 'What closed a batch',
          description: 'Mostly `wait`: less comes than a batch holds.',
          unit: 'cps',
          stacked: true,
          queries: [[rate('rag_serving_batches_closed_total', 'reason'), '{{reason}}']],
        },
        {
          title: 'Shared-memory slots',
          description: 'Quarantined ones rest until the model server can no longer write into them.',
          unit: 'short',
          stacked: true,
          queries: [[`sum by (state) (rag_serving_shm_slots${of})`, '{{state}}']],
        },
        {
          title: 'Rows in the store',
          description: 'By what the store did with them.',
          unit: 'cps',
          stacked: true,
          queries: [[rate('rag_serving_sink_rows_total', 'outcome'), '{{outcome}}']],
        },
        {
          title: 'Dead letters',
          description: 'By error.',
          unit: 'cps',
          stacked: true,
          queries: [[rate('rag_serving_dead_letters_total', 'code'), '{{code}}']],
        },
      ],
    },
    {
      title: 'Group and machines',
      panels: [
        {
          title: 'Checks that fail',
          description: 'Why a worker, or the sidecar of a Triton, is not ready. Empty while all is well.',
          unit: 'short',
          queries: [
            [
              `sum by (job, instance, check) (rag_serving_check_state{job=~"$job",state="fail"}) > 0`,
              '{{job}} {{instance}} {{check}}',
            ],
          ],
        },
        {
          title: 'GPU memory as the guard sees it',
          description: 'Share of the capacity in use. Empty where nobody watches or no GPU tells.',
          unit: 'percentunit',
          queries: [[`rag_serving_vram_utilization_ratio${of}`, '{{job}} {{instance}}']],
          alarmAt: 0.85,
        },
        {
          title: 'GPU memory held for good',
          description: 'Of the worst GPU; above 20 GiB the pod is not ready.',
          unit: 'bytes',
          queries: [[`rag_serving_vram_static_bytes${of}`, '{{job}} {{instance}}']],
        },
        {
          title: 'State of GPU memory',
          description: 'What the guard knows of GPU memory.',
          unit: 'short',
          queries: [
            [`sum by (job, instance, state) (rag_serving_vram_state${of}) > 0`, '{{job}} {{instance}} {{state}}'],
          ],
        },
        {
          title: 'Commits',
          description: 'Failed ones are tried again.',
          unit: 'cps',
          queries: [[rate('rag_serving_commits_total', 'result'), '{{result}}']],
        },
        {
          title: 'Rebalances',
          description: 'Many mean that workers come and go, or miss their heartbeats.',
          unit: 'short',
          queries: [[`sum(increase(rag_serving_rebalances_total${of}[10m]))`, 'joins in 10 min']],
        },
        {
          title: 'Spot notices and drains',
          description: 'Notices in the hour, and the time that a drain has taken so far.',
          unit: 'short',
          queries: [
            [`sum by (provider, kind) (increase(rag_serving_spot_notices_total${of}[1h]))`, '{{provider}} {{kind}}'],
            [`rag_serving_drain_duration_seconds${of}`, '{{instance}} drains, seconds'],
          ],
        },
        {
          title: 'Event loop',
          description: 'Delay. Above some 100 ms heartbeats and deadlines suffer.',
          unit: 's',
          queries: [[`rag_serving_event_loop_lag_seconds{job=~"$job",statistic="p99"}`, '{{instance}} p99']],
        },
        {
          title: 'CPU',
          description: 'Cores of each worker.',
          unit: 'short',
          queries: [[`rate(process_cpu_seconds_total${of}[$__rate_interval])`, '{{instance}}']],
        },
        {
          title: 'Memory',
          description: 'Resident.',
          unit: 'bytes',
          queries: [[`process_resident_memory_bytes${of}`, '{{instance}}']],
        },
        {
          title: 'What runs',
          description: 'Versions.',
          kind: 'table',
          unit: 'none',
          queries: [[`count by (version, node) (rag_serving_build_info${of})`, '']],
        },
        {
          title: 'Watchdog',
          description: 'Standstills that a worker found and healed.',
          unit: 'short',
          queries: [
            [
              `sum by (finding, action) (increase(rag_serving_watchdog_actions_total${of}[1h]))`,
              '{{finding}} {{action}}',
            ],
          ],
        },
        {
          title: 'Offsets lost to retention',
          description: 'Deleted before they were read. Must be 0.',
          unit: 'short',
          queries: [[`sum(increase(rag_serving_offsets_gone_total${of}[1h]))`, 'in 1 h']],
          alarmAt: 1,
        },
      ],
    },
    tritonRow('batch_embedder_trt|text_tokenizer'),
  ],
};
