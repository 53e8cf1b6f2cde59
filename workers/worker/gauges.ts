/** Gauges that others keep: read at each scrape, and the group's lag from the broker at intervals. */
import { systemClock } from '../../src/clock.ts';
import { asServingError } from '../../src/errors.ts';
import type { PartitionLag } from '../../src/kafka/admin.ts';
import { waitReasons } from '../../src/kafka/pauses.ts';
import type { Source } from '../../src/kafka/source.ts';
import type { SharedMemory } from '../../src/shm/shared-memory.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { PartitionGauges } from '../../src/telemetry/partition-gauges.ts';
import { every } from './every.ts';
import type { KafkaParts } from './kafka.ts';

export type GaugeSources = {
  readonly source: Source;
  readonly memory: SharedMemory | undefined;
  readonly lag: KafkaParts['lag'];
};

/** As often as Prometheus commonly asks us. */
const LAG_EVERY_MS = 10_000;

/** `onLag` is told what the broker said of our partitions; undefined when it said nothing. */
export function watchGauges(
  metrics: Metrics,
  { source, memory, lag }: GaugeSources,
  log: Log,
  onLag: (lag: readonly PartitionLag[] | undefined) => void,
): { stop(): void } {
  const partitions = new PartitionGauges(metrics);
  metrics.onScrape(() => {
    const status = source.status();
    metrics.inFlightChunks.set({}, status.inFlightChunks);
    metrics.inFlightBytes.set({}, status.inFlightBytes);
    metrics.consumerJoined.set({}, status.joined ? 1 : 0);
    metrics.assignmentEpoch.set({}, status.epoch);
    metrics.sourcePaused.set({}, status.paused.length > 0 ? 1 : 0);
    for (const reason of waitReasons) metrics.partitionsWaiting.set({ reason }, status.waiting[reason]);
    partitions.show(
      status.assigned.map(({ partition }) => partition),
      systemClock.monotonicMs(),
    );
    if (memory === undefined) return;
    const { free, leased, quarantined } = memory.pool.counts;
    metrics.shmSlots.set({ state: 'free' }, free);
    metrics.shmSlots.set({ state: 'leased' }, leased);
    metrics.shmSlots.set({ state: 'quarantined' }, quarantined);
  });
  const readLag = async () => {
    try {
      // A broker that has not let us in yet has nothing to say about partitions of ours.
      if (source.status().assigned.length === 0) return onLag([]);
      const readings = await lag();
      partitions.read(readings, systemClock.monotonicMs());
      const ours = new Set(source.status().assigned.map(({ partition }) => partition));
      onLag(readings.filter(({ partition }) => ours.has(partition)));
    } catch (error) {
      onLag(undefined);
      log.debug('lag is not known', { code: asServingError(error).code });
    }
  };
  return every(LAG_EVERY_MS, readLag);
}
