/** Where a group stands in each partition of its topic. */
import type { KafkaAdmin } from '../../src/kafka/admin.ts';
import { type PartitionLag, partitionLag } from '../../src/kafka/admin.ts';
import { decodeTail } from '../../src/offsets/commit-metadata.ts';
import { countOffsets } from '../../src/offsets/offset-range.ts';

export type Position = PartitionLag & {
  /** Records beyond the committed offset that are stored already, as the commit's metadata says. */
  readonly doneBeyond: bigint;
};

/** By partition. KAFKA_TOPIC_UNKNOWN for a topic that is not there. */
export async function positionsOf(admin: KafkaAdmin, group: string, topic: string): Promise<readonly Position[]> {
  const bounds = await admin.topicBounds(topic);
  const held = await admin.groupOffsets(group, topic);
  return Array.from(bounds, ([partition, { low, end }]) => {
    const stored = held.get(partition);
    const tail = decodeTail(stored?.offset ?? -1n, stored?.metadata ?? null);
    const doneBeyond = tail.kind === 'tail' ? BigInt(countOffsets(tail.done)) : 0n;
    return { ...partitionLag(partition, low, end, stored?.offset), doneBeyond };
  });
}

/** For JSON. Offsets are text: they may be larger than JSON numbers are exact. */
export function positionJson({ partition, low, committed, end, lag, doneBeyond }: Position) {
  return {
    partition,
    low: String(low),
    committed: committed === undefined ? null : String(committed),
    end: String(end),
    lag: String(lag),
    doneBeyond: String(doneBeyond),
  };
}
