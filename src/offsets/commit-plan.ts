/**
 * Which partitions to commit now. The broker accepts any commit of a living member, also for a partition that moved to
 * another and also backwards, so both rules are kept here: only what is owned in this epoch, and only forward.
 */
import type { PartitionId } from './epochs.ts';

export type PartitionProgress = PartitionId & {
  readonly epoch: number;
  /** Next offset to read; undefined before anything was read. */
  readonly commitPoint: bigint | undefined;
  /** What the broker is known to hold; undefined when it holds nothing usable, so that any point is worth a commit. */
  readonly committed: bigint | undefined;
  /** Free text stored beside the offset; empty for none. */
  readonly metadata: string;
};

export type Commit = PartitionId & { readonly epoch: number; readonly offset: bigint; readonly metadata: string };

export type IsCurrentEpoch = (id: PartitionId, epoch: number) => boolean;

export function planCommits(progress: Iterable<PartitionProgress>, isCurrent: IsCurrentEpoch): Commit[] {
  const commits: Commit[] = [];
  for (const { topic, partition, epoch, commitPoint, committed, metadata } of progress) {
    if (commitPoint === undefined || !isCurrent({ topic, partition }, epoch)) continue;
    if (committed !== undefined && commitPoint <= committed) continue;
    commits.push({ topic, partition, epoch, offset: commitPoint, metadata });
  }
  return commits;
}
