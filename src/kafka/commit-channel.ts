/**
 * Sends one list of offsets to the group's coordinator, once, and believes only the acknowledgement.
 *
 * Goes to kafkajs's group itself, not through `consumer.commitOffsets`: that one repeats a failed commit by itself, and after
 * a rebalance it would sign the old list with the new generation, moving a partition back that is another's by then.
 */
import type { ConsumerCommitOffsetsEvent } from 'kafkajs';
import { ServingError } from '../errors.ts';
import type { Commit } from '../offsets/commit-plan.ts';
import { partitionKey } from '../offsets/epochs.ts';
import { settledWithin } from './bounded.ts';
import type { HookedGroup } from './group-hooks.ts';

const COMMIT_TIMEOUT_MS = 10_000;

export class CommitChannel {
  readonly #topic: string;
  readonly #group: HookedGroup;
  /** Offsets that the broker has acknowledged, as kafkajs reports them. */
  readonly #acknowledged = new Map<string, string>();
  /** A commit that was given up and may still be sent: until it has ended, a newer one could be overtaken by it. */
  #overdue: Promise<unknown> | undefined;

  constructor(group: HookedGroup, topic: string) {
    this.#group = group;
    this.#topic = topic;
  }

  onCommitted({ payload }: ConsumerCommitOffsetsEvent): void {
    for (const { topic, partitions } of payload.topics) {
      for (const { partition, offset } of partitions)
        this.#acknowledged.set(partitionKey({ topic, partition }), String(offset));
    }
  }

  /** Rejects unless the broker acknowledged every offset. */
  async send(commits: readonly Commit[]): Promise<void> {
    if (this.#overdue !== undefined) throw unavailable('an earlier commit is still unanswered');
    for (const commit of commits) this.#acknowledged.delete(partitionKey(commit));
    const partitions = commits.map(({ partition, offset, metadata }) => ({
      partition,
      offset: String(offset),
      metadata,
    }));
    await this.#answered(this.#group.commit(this.#topic, partitions));
    // kafkajs resolves an empty or overtaken call too: only the event counts.
    const open = commits.filter((commit) => this.#acknowledged.get(partitionKey(commit)) !== String(commit.offset));
    if (open.length > 0) throw unavailable(`${open.length} partitions not acknowledged`);
  }

  async #answered(sent: Promise<void>): Promise<void> {
    let ended = false;
    const tracked = sent.finally(() => {
      ended = true;
      this.#overdue = undefined;
    });
    try {
      await settledWithin(tracked, COMMIT_TIMEOUT_MS, 'commit offsets');
    } finally {
      if (!ended) this.#overdue = tracked.catch(() => undefined);
    }
  }
}

export function unavailable(why: string): ServingError {
  return new ServingError('KAFKA_UNAVAILABLE', `cannot commit offsets: ${why}`);
}
