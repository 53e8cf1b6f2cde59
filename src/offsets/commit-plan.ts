/**
 * Which partitions to commit now. The broker accepts any commit of a living member, also for a partition that moved to
 * another and also backwards, so both rules are kept here: only what is owned in this epoch, and only forward. A commit
 * that leaves the offset where it is is worth making when what is done beyond it has changed.
 */
import type { PartitionId } from './epochs.ts';

export type PartitionProgress = PartitionId & {
  readonly epoch: number;
  /** Next offset to read; undefined before it is known where reading begins. */
  readonly commitPoint: bigint | undefined;
  /** What the broker is known to hold; undefined when it holds nothing usable, so that any point is worth a commit. */
  readonly committed: bigint | undefined;
  /** Free text to store beside the offset, and what the broker has there; empty for none. */
  readonly metadata: string;
  readonly committedMetadata: string;
};

export type Commit = PartitionId & { readonly epoch: number; readonly offset: bigint; readonly metadata: string };

export type IsCurrentEpoch = (id: PartitionId, epoch: number) => boolean;

export function planCommits(progress: Iterable<PartitionProgress>, isCurrent: IsCurrentEpoch): Commit[] {
  const commits: Commit[] = [];
  for (const { topic, partition, epoch, commitPoint, committed, metadata, committedMetadata } of progress) {
    if (commitPoint === undefined || !isCurrent({ topic, partition }, epoch)) continue;
    if (committed !== undefined && commitPoint < committed) continue;
    if (commitPoint === committed && metadata === committedMetadata) continue;
    commits.push({ topic, partition, epoch, offset: commitPoint, metadata });
  }
  return commits;
}
