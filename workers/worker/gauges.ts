/** Gauges that others keep: read at each scrape, and the group's lag from the broker at intervals. */
import { asServingError } from '../../src/errors.ts';
import { waitReasons } from '../../src/kafka/pauses.ts';
import type { Source } from '../../src/kafka/source.ts';
import type { SharedMemory } from '../../src/shm/shared-memory.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { every } from './every.ts';
import type { KafkaParts } from './kafka.ts';

export type GaugeSources = {
  readonly source: Source;
  readonly memory: SharedMemory | undefined;
  readonly lag: KafkaParts['lag'];
};

const LAG_EVERY_MS = 10_000;

export function watchGauges(metrics: Metrics, { source, memory, lag }: GaugeSources, log: Log): { stop(): void } {
  metrics.onScrape(() => {
    const status = source.status();
    metrics.inFlightChunks.set({}, status.inFlightChunks);
    metrics.inFlightBytes.set({}, status.inFlightBytes);
    metrics.consumerJoined.set({}, status.joined ? 1 : 0);
    metrics.sourcePaused.set({}, status.paused.length > 0 ? 1 : 0);
    for (const reason of waitReasons) metrics.partitionsWaiting.set({ reason }, status.waiting[reason]);
    if (memory === undefined) return;
    const { free, leased, quarantined } = memory.pool.counts;
    metrics.shmSlots.set({ state: 'free' }, free);
    metrics.shmSlots.set({ state: 'leased' }, leased);
    metrics.shmSlots.set({ state: 'quarantined' }, quarantined);
  });
  const readLag = async () => {
    try {
      const assigned = new Set(source.status().assigned.map(({ partition }) => partition));
      // A broker that has not let us in yet has nothing to say about partitions of ours.
      const partitions = assigned.size === 0 ? [] : (await lag()).filter(({ partition }) => assigned.has(partition));
      // Of the partitions that are ours: another worker reports its own.
      metrics.consumerLag.clear();
      metrics.committedOffset.clear();
      for (const { partition, lag: behind, committed } of partitions) {
        metrics.consumerLag.set({ partition: String(partition) }, Number(behind));
        if (committed !== undefined) metrics.committedOffset.set({ partition: String(partition) }, Number(committed));
      }
    } catch (error) {
      log.debug('lag is not known', { code: asServingError(error).code });
    }
  };
  return every(LAG_EVERY_MS, readLag);
}
