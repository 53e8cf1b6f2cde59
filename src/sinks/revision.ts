/** Which of two revisions of one chunk wins. Stores repeat this rule in their own language; the contract suite compares. */
import type { SourcePosition } from '../records/chunk.ts';

export type Revision = { readonly version: number | undefined; readonly source: SourcePosition };

/**
 * True when `incoming` must replace `stored`: with a version on both and different, the larger wins; else, in one
 * partition, the larger or equal offset (equal: the same message again, so writing it once more changes nothing).
 * Offsets of different partitions say nothing about age: there the later arrival wins.
 */
export function isNewerRevision(incoming: Revision, stored: Revision): boolean {
  if (incoming.version !== undefined && stored.version !== undefined && incoming.version !== stored.version) {
    return incoming.version > stored.version;
  }
  const samePartition =
    incoming.source.topic === stored.source.topic && incoming.source.partition === stored.source.partition;
  return samePartition ? incoming.source.offset >= stored.source.offset : true;
}
