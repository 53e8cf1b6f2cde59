/** What the workers ask of the brokers. Pure. */
import { count, type Figure, figure } from './figure.ts';
import type { PodPlan } from './pods.ts';
import type { WorkerFacts, Workload } from './workload.ts';

/** Ids, tenant, metadata, JSON and record framing of a message; texts also grow a little by escapes. */
const MESSAGE_OVERHEAD_BYTES = 250;
const ESCAPES = 1.05;

export function planKafka(load: Workload, pods: PodPlan, worker: WorkerFacts): readonly Figure[] {
  const perChunk = load.textBytes * ESCAPES + MESSAGE_OVERHEAD_BYTES / load.chunksPerMessage;
  const incoming = load.rate * perChunk;
  const outgoing = pods.maxPods * pods.podRate * perChunk;
  const kept = (load.chunks + load.rate * load.retentionSeconds) * perChunk;
  const [chunk, pod] = [count(perChunk), count(pods.podRate)];
  return [
    figure(
      'bytes of a chunk in the topic',
      perChunk,
      'bytes',
      `${count(load.textBytes)} × ${ESCAPES} + ${MESSAGE_OVERHEAD_BYTES} ÷ ${load.chunksPerMessage} chunks a message, before compression`,
    ),
    figure('written to the topic', incoming, 'bytes/s', `${count(load.rate)} × ${chunk}`),
    figure('read at full speed', outgoing, 'bytes/s', `${pods.maxPods} pods × ${pod} × ${chunk}`),
    figure(
      'kept on disk',
      kept * load.replication,
      'bytes',
      `(${count(load.chunks)} + ${count(load.rate)} × ${count(load.retentionSeconds)} s of retention) × ${chunk} × ${load.replication} replicas`,
    ),
    figure(
      'commits at full speed',
      (pods.maxPods * pods.podRate) / worker.batchSize,
      'commits/s',
      `${pods.maxPods} pods × ${pod} ÷ ${worker.batchSize}: at most one for each batch`,
    ),
  ];
}
