/**
 * What the broker itself holds for our partitions, asked for after each assignment, before anything of them is committed
 * or, for gained ones, read: another member may have owned them, and may have done more than its commit point says.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type PartitionId, partitionKey } from '../offsets/epochs.ts';
import { type BrokerOffset, NOTHING_COMMITTED, type Opening } from '../offsets/opening.ts';
import type { Log } from '../telemetry/log.ts';
import { kafkaError } from './kafka-errors.ts';
import type { Partitions } from './partitions.ts';

export type BrokerViewOptions = {
  readonly partitions: Partitions;
  readonly groupOffsets: () => Promise<ReadonlyMap<number, BrokerOffset>>;
  readonly log: Log;
  /** More is known of some partitions. */
  readonly onKnown: () => void;
};

const RETRY_DELAY_MS = 500;

export class BrokerView {
  readonly #options: BrokerViewOptions;

  constructor(options: BrokerViewOptions) {
    this.#options = options;
  }

  /** Tries until it succeeds or the assignment is over; never rejects. */
  async read(ids: readonly PartitionId[], isCurrent: () => boolean): Promise<void> {
    const { partitions, groupOffsets, log, onKnown } = this.#options;
    while (ids.length > 0 && isCurrent()) {
      try {
        const offsets = await groupOffsets();
        if (!isCurrent()) return;
        for (const id of ids) {
          this.#opened(id, partitions.brokerHolds(id, offsets.get(id.partition) ?? NOTHING_COMMITTED));
        }
        onKnown();
        return;
      } catch (error) {
        const { code } = kafkaError(error, 'read committed offsets');
        log.warn('committed offsets not readable yet; gained partitions and commits wait', { code });
        await sleep(RETRY_DELAY_MS, undefined, { ref: false });
      }
    }
  }

  /** The client begins to read a partition here. */
  beginsAt(id: PartitionId, start: bigint): void {
    const opening = this.#options.partitions.beginsAt(id, start);
    this.#opened(id, opening);
    if (opening !== undefined) this.#options.onKnown();
  }

  /** Compares with what we believe: a commit that did not stick is planned again. */
  async verify(): Promise<void> {
    const { partitions, groupOffsets } = this.#options;
    const offsets = await groupOffsets();
    for (const id of partitions.owned) partitions.verify(id, offsets.get(id.partition) ?? NOTHING_COMMITTED);
  }

  #opened(id: PartitionId, opening: Opening | undefined): void {
    if (opening === undefined) return;
    const { log } = this.#options;
    const topicPartition = partitionKey(id);
    if (opening.ignored !== undefined) {
      log.warn('commit metadata ignored; what it said is done again', { topicPartition, reason: opening.ignored });
    } else if (opening.restored > 0n) {
      log.info('work of the former owner taken over', { topicPartition, offsets: String(opening.restored) });
    }
  }
}
