/** The dashboard of pools A and B, from the metrics of whoever hosts the online module. */
import type { DashboardSpec } from './dashboard.ts';
import { tritonRow } from './gpu-panels.ts';

const of = '{job=~"$job"}';
const rate = (name: string, by: string, labels = 'job=~"$job"') =>
  `sum by (${by}) (rate(${name}{${labels}}[$__rate_interval]))`;
const quantile = (q: number, by: string) =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(rag_serving_online_call_duration_seconds_bucket${of}[$__rate_interval])))`;
const failed = 'outcome!~"ok|degraded|ARGUMENT_INVALID|INFERENCE_CANCELLED"';

export const onlineDashboard: DashboardSpec = {
  uid: 'rag-serving-online',
  title: 'RAG serving: online pools',
  description: 'Queries embedded and candidates reranked, as their callers see it.',
  jobsOf: 'rag_serving_online_calls_total',
  rows: [
    {
      title: 'At a glance',
      panels: [
        {
          title: 'Queries',
          description: 'Embed calls a second.',
          kind: 'stat',
          unit: 'reqps',
          queries: [[rate('rag_serving_online_calls_total', 'pool', 'job=~"$job",pool="embed"'), '']],
        },
        {
          title: 'Embed P99',
          description: 'The aim is 10 ms.',
          kind: 'stat',
          unit: 's',
          queries: [
            [
              `histogram_quantile(0.99, sum by (le) (rate(rag_serving_online_call_duration_seconds_bucket{job=~"$job",pool="embed"}[$__rate_interval])))`,
              '',
            ],
          ],
          alarmAt: 0.01,
        },
        {
          title: 'Rerank P99',
          description: 'The aim is 30 ms.',
          kind: 'stat',
          unit: 's',
          queries: [
            [
              `histogram_quantile(0.99, sum by (le) (rate(rag_serving_online_call_duration_seconds_bucket{job=~"$job",pool="rerank"}[$__rate_interval])))`,
              '',
            ],
          ],
          alarmAt: 0.03,
        },
        {
          title: 'Degraded',
          description: 'Share of the reranks that came back in the incoming order.',
          kind: 'stat',
          unit: 'percentunit',
          queries: [
            [
              `sum(rate(rag_serving_online_calls_total{job=~"$job",pool="rerank",source="rrf"}[$__rate_interval])) / sum(rate(rag_serving_online_calls_total{job=~"$job",pool="rerank"}[$__rate_interval]))`,
              '',
            ],
          ],
          alarmAt: 0.05,
        },
        {
          title: 'Failed queries',
          description: 'Share of the embed calls without a vector.',
          kind: 'stat',
          unit: 'percentunit',
          queries: [
            [
              `sum(rate(rag_serving_online_calls_total{job=~"$job",pool="embed",${failed}}[$__rate_interval])) / sum(rate(rag_serving_online_calls_total{job=~"$job",pool="embed"}[$__rate_interval]))`,
              '',
            ],
          ],
          alarmAt: 0.01,
        },
        {
          title: 'In flight',
          description: 'Requests to the model servers.',
          kind: 'stat',
          unit: 'short',
          queries: [[`sum by (pool) (rag_serving_online_requests_in_flight${of})`, '{{pool}}']],
        },
      ],
    },
    {
      title: 'Calls',
      panels: [
        {
          title: 'Calls by outcome',
          description: 'Everything but ok has a reason in its name.',
          unit: 'reqps',
          stacked: true,
          queries: [[rate('rag_serving_online_calls_total', 'pool, outcome'), '{{pool}} {{outcome}}']],
        },
        {
          title: 'P50',
          description: 'As the caller sees it.',
          unit: 's',
          queries: [[quantile(0.5, 'pool'), '{{pool}}']],
        },
        {
          title: 'P99',
          description: 'As the caller sees it. A search is both calls and what lies between.',
          unit: 's',
          queries: [[quantile(0.99, 'pool'), '{{pool}}']],
        },
        {
          title: 'Why degraded',
          description: 'Reasons of reranks in the incoming order.',
          unit: 'reqps',
          stacked: true,
          queries: [[rate('rag_serving_online_degraded_total', 'reason'), '{{reason}}']],
        },
        {
          title: 'Breaker changes',
          description: 'By endpoint and new state, in 10 minutes.',
          unit: 'short',
          queries: [
            [
              `sum by (pool, endpoint, state) (increase(rag_serving_online_breaker_changes_total${of}[10m]))`,
              '{{pool}} {{endpoint}} {{state}}',
            ],
          ],
        },
        {
          title: 'Calls to the model servers',
          description: 'By gRPC status.',
          unit: 'reqps',
          queries: [
            [rate('rag_serving_online_grpc_calls_total', 'pool, method, code'), '{{pool}} {{method}} {{code}}'],
          ],
        },
        {
          title: 'Texts cut',
          description: 'Longer than the limit.',
          unit: 'cps',
          queries: [[rate('rag_serving_online_cut_texts_total', 'pool'), '{{pool}}']],
        },
      ],
    },
    tritonRow('dense_embedder_trt|cross_encoder_trt|text_tokenizer|pair_tokenizer', 4_000),
  ],
};
