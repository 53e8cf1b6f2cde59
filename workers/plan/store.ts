/** What the workers ask of the vector store, and what it grows to. Pure. */
import { bytesPerVector } from '../../src/kserve/contract.ts';
import { count, type Figure, figure } from './figure.ts';
import type { PodPlan } from './pods.ts';
import type { Workload } from './workload.ts';

/**
 * Bytes of a row beyond vector and text, measured (docs/benchmarks/store-size.json), no vector index. LanceDB's hold the
 * versions of the table, which compaction takes away.
 */
export const storeOverheadBytes = { redis: 950, pgvector: 700, lancedb: 1_100 } as const;

const DAY_S = 86_400;

export type StorePlan = { readonly figures: readonly Figure[]; readonly warnings: readonly string[] };

export function planStore(load: Workload, pods: PodPlan): StorePlan {
  const vectorBytes = bytesPerVector(load);
  const overhead = storeOverheadBytes[load.sink];
  const text = load.storesText ? load.textBytes : 0;
  const row = vectorBytes + text + overhead;
  const figures = [
    figure(
      'rows at full speed',
      pods.maxPods * pods.podRate,
      'chunks/s',
      `${pods.maxPods} pods × ${count(pods.podRate)}`,
    ),
    figure(
      'a row',
      row,
      'bytes',
      `${count(vectorBytes)} vector + ${count(text)} text + ${count(overhead)} measured for ${load.sink}`,
    ),
    figure('the backlog, stored', load.chunks * row, 'bytes', `${count(load.chunks)} × ${count(row)}, no vector index`),
    figure(
      'growth a day, at most',
      load.rate * DAY_S * row,
      'bytes',
      `${count(load.rate)} × 86,400 s × ${count(row)}, if no chunk is an update`,
    ),
  ];
  const warnings = [
    ...(load.sink === 'lancedb' && pods.maxPods > 1
      ? [`LanceDB takes one worker a folder, and the plan has ${pods.maxPods}: choose redis or pgvector`]
      : []),
    ...(load.sink === 'pgvector' && load.chunks > 0
      ? [
          'build the HNSW index of PostgreSQL after the backlog: 256 rows/s with it where 4,833 were written without (docs/benchmarks/pgvector.json)',
        ]
      : []),
  ];
  return { figures, warnings };
}
