/** What single stores say of themselves: rows of the worker's table. Data only. */
import type { MetricSpec } from './metric-spec.ts';

/** The kinds of RAG_SERVING_SINK; a closed list of them is the configuration's. */
const stores = { atMost: 16 } as const;
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

export const storeMetrics = {
  storeRows: {
    type: 'counter',
    name: 'store_rows_total',
    unit: 'rows',
    help: 'Rows by what a single store did with them; of several stores each counts its own, repeated calls included',
    labels: { store: stores, outcome: ['stored', 'superseded', 'refused'] },
  },
  storeCallDuration: {
    type: 'histogram',
    name: 'store_call_duration_seconds',
    unit: 'seconds',
    help: 'Calls to a single store',
    labels: { store: stores, operation: ['write', 'remove'], result: ['ok', 'failed'] },
    buckets: SECONDS,
  },
  lancedbFragments: {
    type: 'gauge',
    name: 'lancedb_fragments',
    unit: 'fragments',
    help: 'Fragments of the LanceDB table after its last compaction',
    labels: {},
  },
  lancedbVersions: {
    type: 'gauge',
    name: 'lancedb_versions',
    unit: 'versions',
    help: 'Versions of the LanceDB table that are kept, after its last compaction',
    labels: {},
  },
  lancedbUnindexed: {
    type: 'gauge',
    name: 'lancedb_unindexed_rows',
    unit: 'rows',
    help: 'Rows of the LanceDB table that a search scans, all of them without a vector index, after its last compaction',
    labels: {},
  },
  lancedbCompaction: {
    type: 'gauge',
    name: 'lancedb_compaction_seconds',
    unit: 'seconds',
    help: 'Time that the last compaction of the LanceDB table took',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>;
