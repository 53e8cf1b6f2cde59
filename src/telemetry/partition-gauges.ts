/**
 * Lag and commit point by partition. The broker is asked at intervals; what is shown at a scrape is what it said last of the
 * partitions that are ours at that moment, so that one that has left is gone at once and not at the next question.
 */
import type { Metrics } from './metrics.ts';

export type PartitionReading = {
  readonly partition: number;
  readonly lag: bigint;
  readonly committed: bigint | undefined;
};

export class PartitionGauges {
  readonly #metrics: Metrics;
  #readings: readonly PartitionReading[] = [];
  #readAtMs: number | undefined;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** What the broker says of all partitions of the topic. */
  read(readings: readonly PartitionReading[], nowMs: number): void {
    this.#readings = readings;
    this.#readAtMs = nowMs;
  }

  /** A broker that does not answer leaves the last numbers standing; their age tells. */
  show(assigned: readonly number[], nowMs: number): void {
    const { consumerLag, committedOffset, consumerLagAge, assignedPartitions } = this.#metrics;
    const ours = new Set(assigned);
    consumerLag.clear();
    committedOffset.clear();
    for (const { partition, lag, committed } of this.#readings) {
      if (!ours.has(partition)) continue;
      consumerLag.set({ partition: String(partition) }, Number(lag));
      if (committed !== undefined) committedOffset.set({ partition: String(partition) }, Number(committed));
    }
    assignedPartitions.set({}, ours.size);
    if (this.#readAtMs !== undefined) consumerLagAge.set({}, (nowMs - this.#readAtMs) / 1_000);
  }
}
