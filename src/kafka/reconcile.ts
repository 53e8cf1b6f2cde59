/**
 * After a rebalance: looks up what the broker holds as committed for the partitions that stayed here, before anything of
 * them is committed again. Another member may have owned them in a generation that we missed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PartitionId } from '../offsets/epochs.ts';
import type { Log } from '../telemetry/log.ts';
import { kafkaError } from './kafka-errors.ts';
import type { Partitions } from './partitions.ts';

export type ReconcileOptions = {
  readonly kept: readonly PartitionId[];
  readonly partitions: Partitions;
  readonly committed: () => Promise<ReadonlyMap<number, bigint>>;
  /** False once the assignment this is about is over. */
  readonly isCurrent: () => boolean;
  readonly log: Log;
};

const RETRY_DELAY_MS = 500;

/** Tries until it succeeds or the assignment is over; never rejects. */
export async function reconcileKept({ kept, partitions, committed, isCurrent, log }: ReconcileOptions): Promise<void> {
  while (kept.length > 0 && isCurrent()) {
    try {
      const offsets = await committed();
      if (!isCurrent()) return;
      for (const id of kept) partitions.reconcile(id, offsets.get(id.partition) ?? -1n);
      return;
    } catch (error) {
      log.warn('committed offsets not readable yet; commits wait', {
        code: kafkaError(error, 'read committed offsets').code,
      });
      await sleep(RETRY_DELAY_MS, undefined, { ref: false });
    }
  }
}
