/**
 * The index that makes a search read a part of the vectors: which kind, when it is built, how it is searched. Pure but for
 * LanceDB's own constructors.
 *
 * Surprising: rows that came after the index was built are found all the same, by a scan of them alone; folding them in
 * (compaction does) makes that scan short again.
 */
import type { Index, IndexConfig, Table, VectorQuery } from '@lancedb/lancedb';
import type { LanceDbLibrary } from './library.ts';

export const vectorIndexKinds = ['none', 'ivf_flat', 'ivf_pq', 'ivf_hnsw_sq'] as const;
export type VectorIndexKind = (typeof vectorIndexKinds)[number];

/** LanceDB cannot train an index on fewer. */
export const FEWEST_ROWS = 256;
export const VECTOR_COLUMN = 'vector';
/** Candidates that are compared exactly, for each hit wanted: compressed vectors only say what is near. */
const REFINE = 10;
/** Part of the partitions that a search looks into. */
const PROBED_PARTS = 0.1;
const FEWEST_PROBES = 20;

export type FoundIndex = { readonly type: string; readonly unindexedRows: number };

/** LanceDB writes a type as `IvfHnswSq` in one place and as `IVF_HNSW_SQ` in another. */
function plain(type: string): string {
  return type.toLowerCase().replaceAll('_', '');
}

export function vectorIndexOf(indices: readonly IndexConfig[]): FoundIndex | undefined {
  const found = indices.find(({ columns }) => columns.length === 1 && columns[0] === VECTOR_COLUMN);
  return found && { type: plain(found.indexType), unindexedRows: Number(found.numUnindexedRows ?? 0) };
}

/** For who only reads the table. */
export async function readIndex(
  table: Table,
): Promise<{ readonly index: FoundIndex | undefined; readonly rows: number }> {
  const [indices, rows] = await Promise.all([table.listIndices(), table.countRows()]);
  return { index: vectorIndexOf(indices), rows };
}

/** Due when the table has grown enough and has no index, or has one of another kind than asked for. */
export function isIndexDue(
  kind: VectorIndexKind,
  found: FoundIndex | undefined,
  rows: number,
  minRows: number,
): boolean {
  if (kind === 'none' || rows < Math.max(minRows, FEWEST_ROWS)) return false;
  return found === undefined || found.type !== plain(kind);
}

/** A square root of the rows, so that a partition and the list of partitions are alike in length. */
export function partitionsFor(rows: number): number {
  return Math.max(1, Math.round(Math.sqrt(rows)));
}

export function indexConfig(lancedb: LanceDbLibrary, kind: Exclude<VectorIndexKind, 'none'>, rows: number): Index {
  const distanceType = 'cosine';
  const numPartitions = partitionsFor(rows);
  switch (kind) {
    case 'ivf_flat':
      return lancedb.Index.ivfFlat({ distanceType, numPartitions });
    case 'ivf_pq':
      return lancedb.Index.ivfPq({ distanceType, numPartitions });
    case 'ivf_hnsw_sq':
      // Each partition is a graph of its own, and graphs are good at being large.
      return lancedb.Index.hnswSq({ distanceType, numPartitions: Math.max(1, Math.round(rows / 1_000_000)) });
  }
}

/** Searches by the index where there is one; without one LanceDB scans, and heeds none of this. */
export function searchedBy(query: VectorQuery, found: FoundIndex | undefined, rows: number): VectorQuery {
  if (found === undefined) return query;
  const probes = Math.max(FEWEST_PROBES, Math.round(partitionsFor(rows) * PROBED_PARTS));
  const probing = query.nprobes(probes);
  return found.type === plain('ivf_flat') ? probing : probing.refineFactor(REFINE);
}
