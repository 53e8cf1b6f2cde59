/** When each alert fires and when it does not, as series of one value a minute. */
type Series = Readonly<Record<string, string>>;

export type RuleCase = {
  readonly name: string;
  readonly series: Series;
  /** Names of what fires after so many minutes. */
  readonly fires: Readonly<Record<number, readonly string[]>>;
};

const W = 'job="rag-serving-worker",instance="w:8080"';
const chunks = (outcome: string) => `rag_serving_chunks_total{${W},outcome="${outcome}"}`;
const lag = (partition: number) => `rag_serving_consumer_lag_messages{${W},partition="${partition}"}`;
const inFlight = `rag_serving_in_flight_chunks{${W}}`;
const triton = (name: string, model: string) => `${name}{job="triton",instance="t:8002",model="${model}",version="1"}`;
const waits = (model: string, usARequest: number): Series => ({
  [triton('nv_inference_queue_duration_us', model)]: `0+${usARequest * 600}x60`,
  [triton('nv_inference_request_success', model)]: '0+600x60',
});
const gpu = (name: string) => `${name}{job="triton",instance="t:8002",gpu_uuid="GPU-1"}`;
const vram = (used: string, total: string): Series => ({
  [gpu('nv_gpu_memory_used_bytes')]: used,
  [gpu('nv_gpu_memory_total_bytes')]: total,
});
const online = (pool: string, outcome: string) =>
  `rag_serving_online_calls_total{job="search",instance="s:1",pool="${pool}",outcome="${outcome}"}`;

export const ruleCases: readonly RuleCase[] = [
  {
    name: 'fewer than 40,000 a second with a backlog',
    series: { [chunks('persisted')]: '0+2340000x60', [lag(0)]: '500000x60', [inFlight]: '4096x60' },
    fires: { 8: [], 20: ['RagServingThroughputLow'] },
  },
  {
    name: '41,000 a second with a backlog',
    series: { [chunks('persisted')]: '0+2460000x60', [lag(0)]: '500000x60', [inFlight]: '4096x60' },
    fires: { 20: [], 50: [] },
  },
  {
    name: 'ten workers together: 45,000 a second, though each alone is far below',
    series: Object.fromEntries(
      Array.from({ length: 10 }, (_, i) => [
        [`rag_serving_chunks_total{job="rag-serving-worker",instance="w${i}",outcome="persisted"}`, '0+270000x60'],
        [`rag_serving_consumer_lag_messages{job="rag-serving-worker",instance="w${i}",partition="${i}"}`, '9000x60'],
        [`rag_serving_in_flight_chunks{job="rag-serving-worker",instance="w${i}"}`, '100x60'],
      ]).flat(),
    ),
    fires: { 30: [] },
  },
  {
    name: 'little comes and all of it is under way: no backlog, however slow',
    series: { [chunks('persisted')]: '0+60x60', [lag(0)]: '20x60', [inFlight]: '25x60' },
    fires: { 30: [] },
  },
  {
    name: 'lag that grows for half an hour, and then shrinks',
    series: {
      [chunks('persisted')]: '0+3000000x120',
      [lag(0)]: '20000+5000x60 320000-5000x60',
      [inFlight]: '1000x120',
    },
    fires: { 20: [], 40: ['RagServingLagGrows'], 100: [] },
  },
  {
    name: 'lag that moves to another worker in a rebalance has not grown',
    series: {
      [chunks('persisted')]: '0+3000000x60',
      [lag(0)]: '50000x30 _x30',
      'rag_serving_consumer_lag_messages{job="rag-serving-worker",instance="w2:8080",partition="0"}': '_x30 50000x30',
      [inFlight]: '1000x60',
    },
    fires: { 29: [], 32: [], 59: [] },
  },
  {
    name: 'a worker that finishes nothing with something to read',
    series: { [chunks('persisted')]: '500x60', [lag(0)]: '40x60', [inFlight]: '64x60' },
    fires: { 3: [], 12: ['RagServingNoProgress'] },
  },
  {
    name: 'a worker that only abandons has no progress either',
    series: {
      [chunks('persisted')]: '500x60',
      [chunks('abandoned')]: '0+10x60',
      [lag(0)]: '40x60',
      [inFlight]: '64x60',
    },
    fires: { 12: ['RagServingNoProgress'] },
  },
  {
    name: 'a worker with nothing to read',
    series: { [chunks('persisted')]: '500x60', [lag(0)]: '0x60', [inFlight]: '0x60' },
    fires: { 30: [] },
  },
  {
    name: 'one dead letter, and quiet after a quarter of an hour',
    series: { [`rag_serving_dead_letters_total{${W},code="CHUNK_INVALID"}`]: '0x5 1x60' },
    fires: { 4: [], 7: ['RagServingDeadLetters'], 30: [] },
  },
  {
    name: 'a breaker that is open, half-open for moments, and closed again',
    series: {
      [`rag_serving_breaker_state{${W},endpoint="e",state="closed"}`]: '1x3 0x9 1x20',
      [`rag_serving_breaker_state{${W},endpoint="e",state="half-open"}`]: '0x5 1 0x6 0x20',
    },
    fires: { 2: [], 7: ['RagServingBreakerOpen'], 20: [] },
  },
  {
    name: 'the broker does not tell the lag',
    series: { [`rag_serving_consumer_lag_age_seconds{${W}}`]: '5x5 65+60x20' },
    fires: { 5: [], 10: ['RagServingLagUnknown'] },
  },
  {
    name: 'offsets deleted unread',
    series: { [`rag_serving_offsets_gone_total{${W}}`]: '0x5 700x60' },
    fires: { 3: [], 7: ['RagServingOffsetsGone'], 30: [] },
  },
  {
    name: 'commits that fail for long, and single ones',
    series: {
      [`rag_serving_commits_total{${W},result="failed"}`]: '0+1x30',
      'rag_serving_commits_total{job="rag-serving-worker",instance="w2",result="failed"}': '0x3 1x27',
    },
    fires: { 5: [], 20: ['RagServingCommitsFail'] },
  },
  {
    name: 'the watchdog acted',
    series: { [`rag_serving_watchdog_actions_total{${W},finding="consumer-idle",action="rebuild"}`]: '0x5 1x60' },
    fires: { 7: ['RagServingWatchdogActed'], 30: [] },
  },
  { name: 'embedder: 3.9 ms in the queue', series: waits('dense_embedder_trt', 3_900), fires: { 10: [] } },
  {
    name: 'embedder: 4.1 ms in the queue',
    series: waits('dense_embedder_trt', 4_100),
    fires: { 1: [], 10: ['RagServingEmbedQueueWait'] },
  },
  { name: 'reranker: 7.9 ms in the queue', series: waits('cross_encoder_trt', 7_900), fires: { 10: [] } },
  {
    name: 'reranker: 8.1 ms in the queue',
    series: waits('cross_encoder_trt', 8_100),
    fires: { 10: ['RagServingRerankQueueWait'] },
  },
  {
    name: 'the batch model may wait: that is what its queue is for',
    series: waits('batch_embedder_trt', 50_000),
    fires: { 10: [] },
  },
  {
    name: 'no requests at all: nothing divided by nothing is no alert',
    series: {
      [triton('nv_inference_queue_duration_us', 'dense_embedder_trt')]: '9000000x60',
      [triton('nv_inference_request_success', 'dense_embedder_trt')]: '100x60',
    },
    fires: { 10: [] },
  },
  { name: 'VRAM at 84 %', series: vram('84x60', '100x60'), fires: { 10: [] } },
  { name: 'VRAM at 86 %', series: vram('86x60', '100x60'), fires: { 1: [], 10: ['RagServingVramHigh'] } },
  { name: 'a card that says it has no memory', series: vram('5x60', '0x60'), fires: { 10: [] } },
  {
    name: 'a card whose numbers are no numbers',
    series: vram(Array.from({ length: 20 }, () => 'NaN').join(' '), '100x60'),
    fires: { 10: [] },
  },
  {
    name: 'the model fails again and again',
    series: { [`rag_serving_stage_errors_total{${W},stage="embed",code="INFERENCE_FAILED"}`]: '0+30x60' },
    fires: { 10: ['RagServingModelFails'] },
  },
  {
    name: 'one rerank in ten comes back in the incoming order, one in fifty does not matter',
    series: { [online('rerank', 'ok')]: '0+540x30 16200+588x30', [online('rerank', 'degraded')]: '0+60x30 1800+12x30' },
    fires: { 15: ['RagServingRerankDegraded'], 50: [] },
  },
  {
    name: 'queries without a vector; wrong arguments are not ours',
    series: {
      [online('embed', 'ok')]: '0+600x30',
      [online('embed', 'INFERENCE_UNAVAILABLE')]: '0+12x30',
      'rag_serving_online_calls_total{job="other",pool="embed",outcome="ok"}': '0+600x30',
      'rag_serving_online_calls_total{job="other",pool="embed",outcome="ARGUMENT_INVALID"}': '0+600x30',
    },
    fires: { 15: ['RagServingEmbedFails'] },
  },
  {
    name: 'a target that is gone for three minutes; one of somebody else',
    series: { 'up{job="triton",instance="t:8002"}': '1x3 0x4 1x20', 'up{job="node",instance="n:1"}': '0x30' },
    fires: { 4: [], 7: ['RagServingTargetDown'], 12: [] },
  },
];
