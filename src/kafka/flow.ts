/**
 * How much may be in flight: when to take one more message, when to stop fetching, when to go on.
 *
 * Pure. Counts chunks and bytes between a low and a high mark. Above the low mark a partition that holds its share already
 * waits for the others: kafkajs fetches partitions in one fixed order, and the first would starve the last. What is in
 * flight is never more than the limit and one message; a message larger than the limit passes when nothing else is there.
 */
import { type PartitionId, type PartitionKey, partitionKey } from '../offsets/epochs.ts';

export type FlowLimits = {
  readonly maxInFlightChunks: number;
  readonly maxInFlightBytes: number;
  /** Low mark as a part of the limits, 0 < ratio < 1. */
  readonly lowRatio: number;
};

/**
 * `wait-share`: this partition waits for the low mark; `wait-low`: all do; `wait-empty`: the message is too large for the
 * room above the low mark, so all wait until nothing is in flight.
 */
export type Admission = 'admit' | 'wait-share' | 'wait-low' | 'wait-empty';

type Load = { chunks: number; bytes: number };

export class Flow {
  readonly #limits: FlowLimits;
  readonly #byPartition = new Map<PartitionKey, Load>();
  #chunks = 0;
  #bytes = 0;

  constructor(limits: FlowLimits) {
    this.#limits = limits;
  }

  get chunks(): number {
    return this.#chunks;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** May one more message of `bytes` come in from this partition, out of `partitions` that are read? */
  admission(id: PartitionId, bytes: number, partitions: number): Admission {
    if (this.isEmpty) return 'admit';
    const { maxInFlightChunks, maxInFlightBytes, lowRatio } = this.#limits;
    if (this.#bytes + bytes > maxInFlightBytes)
      return bytes > maxInFlightBytes * (1 - lowRatio) ? 'wait-empty' : 'wait-low';
    if (this.#chunks >= maxInFlightChunks) return 'wait-low';
    if (this.isLow) return 'admit';
    const own = this.#byPartition.get(partitionKey(id));
    const share = 1 / Math.max(1, partitions);
    const used =
      own !== undefined && (own.chunks >= maxInFlightChunks * share || own.bytes >= maxInFlightBytes * share);
    return used ? 'wait-share' : 'admit';
  }

  get isEmpty(): boolean {
    return this.#chunks === 0 && this.#bytes === 0;
  }

  /** At or below the low mark: whatever waits for room may go on. */
  get isLow(): boolean {
    const { maxInFlightChunks, maxInFlightBytes, lowRatio } = this.#limits;
    return this.#chunks <= maxInFlightChunks * lowRatio && this.#bytes <= maxInFlightBytes * lowRatio;
  }

  add(id: PartitionId, chunks: number, bytes: number): void {
    const key = partitionKey(id);
    const own = this.#byPartition.get(key) ?? { chunks: 0, bytes: 0 };
    own.chunks += chunks;
    own.bytes += bytes;
    this.#byPartition.set(key, own);
    this.#chunks += chunks;
    this.#bytes += bytes;
  }

  remove(id: PartitionId, chunks: number, bytes: number): void {
    const own = this.#byPartition.get(partitionKey(id));
    if (own === undefined) return;
    own.chunks -= chunks;
    own.bytes -= bytes;
    this.#chunks -= chunks;
    this.#bytes -= bytes;
  }

  /** A lost partition's records are dropped by the pipeline; their late outcomes must not be counted again. */
  forget(id: PartitionId): void {
    const own = this.#byPartition.get(partitionKey(id));
    if (own === undefined) return;
    this.#chunks -= own.chunks;
    this.#bytes -= own.bytes;
    this.#byPartition.delete(partitionKey(id));
  }
}
