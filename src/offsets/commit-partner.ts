/**
 * Port between a source and a store that keeps what it is given until the source commits, and then makes rows and offsets
 * durable in one step. Types only.
 *
 * What is `stored` there is stored by the commit that covers it: a row whose message is never committed never appears.
 */
import type { SourcePosition } from '../records/chunk.ts';
import type { Commit } from './commit-plan.ts';
import type { PartitionId } from './epochs.ts';
import type { BrokerOffset } from './opening.ts';

/** The source as its partner sees it. */
export type SourceSide = {
  /** The epoch in which a message is in flight; undefined when it is done, or of a partition that has left. */
  epochInFlight(position: SourcePosition): number | undefined;
  /** Whether the group counts this process in the generation that gave it its partitions. */
  isMember(): Promise<boolean>;
  /** What the broker holds as committed. */
  held(id: PartitionId): Promise<BrokerOffset>;
  /** Someone else has taken the partition over, although the group seems to give it to us. */
  onFenced(id: PartitionId): void;
};

export type CommitPartner = {
  /** The group whose offsets are committed. */
  readonly groupId: string;
  /** True while it keeps more than it should: the source fetches nothing. */
  readonly isFull: boolean;
  attach(source: SourceSide): void;
  /** Shuts out whoever had the partition before. What the broker holds as committed is final from then on. */
  claim(id: PartitionId): Promise<void>;
  /** Forgets what is kept of partitions that have left. */
  release(ids: readonly PartitionId[]): void;
  /** Rejects unless all of it is durable. */
  commit(commits: readonly Commit[]): Promise<void>;
};
