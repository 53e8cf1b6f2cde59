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
  return isSamePartition(incoming.source, stored.source) ? incoming.source.offset >= stored.source.offset : true;
}

/** Only within one partition do offsets say which came first. */
export function isSamePartition(a: SourcePosition, b: SourcePosition): boolean {
  return a.topic === b.topic && a.partition === b.partition;
}
