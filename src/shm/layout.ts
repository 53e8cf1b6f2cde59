/**
 * Where each slot's input and output area lies inside a region's file. Pure arithmetic.
 *
 * The surprising fact: offsets count from the start of the FILE, which is what a server's `shared_memory_offset`
 * means after a registration at offset 0. The file begins with an 8-byte size header that belongs to
 * shm-typed-array, so the first tensor lies at offset 64, not 0.
 */
import { ServingError } from '../errors.ts';

/** u64, little-endian: bytes that follow it. */
export const HEADER_BYTES = 8;
/** One cache line, and the widest vector load: neighbours never share a line. */
export const ALIGNMENT_BYTES = 64;
/** Registration maps whole pages; a file of whole pages has no tail that is mapped but not backed. */
export const PAGE_BYTES = 4096;

export type ByteRange = { readonly offset: number; readonly byteSize: number };

export type SlotLayout = {
  readonly index: number;
  /** Exactly as large as asked for; starts on a 64-byte boundary. */
  readonly input: ByteRange;
  readonly output: ByteRange;
};

export type RegionLayout = {
  /** File size in bytes, header included; whole pages. Register exactly this many at offset 0. */
  readonly regionBytes: number;
  readonly slots: readonly SlotLayout[];
};

export type RegionDemand = {
  readonly slots: number;
  /** Serialized bytes of the largest input tensor. */
  readonly inputBytes: number;
  /** Bytes of the largest output tensor. */
  readonly outputBytes: number;
};

export function layoutFor(demand: RegionDemand): RegionLayout {
  requirePositive('slots', demand.slots);
  requirePositive('inputBytes', demand.inputBytes);
  requirePositive('outputBytes', demand.outputBytes);
  const outputStart = roundUp(demand.inputBytes, ALIGNMENT_BYTES);
  const stride = outputStart + roundUp(demand.outputBytes, ALIGNMENT_BYTES);
  const regionBytes = roundUp(ALIGNMENT_BYTES + demand.slots * stride, PAGE_BYTES);
  if (!Number.isSafeInteger(regionBytes)) {
    throw new ServingError(
      'SHM_INVALID',
      `${demand.slots} slots of ${stride} bytes are more than can be counted; lower RAG_SERVING_SHM_SLOTS`,
    );
  }
  const slots = Array.from({ length: demand.slots }, (_, index): SlotLayout => {
    const start = ALIGNMENT_BYTES + index * stride;
    return {
      index,
      input: { offset: start, byteSize: demand.inputBytes },
      output: { offset: start + outputStart, byteSize: demand.outputBytes },
    };
  });
  return { regionBytes, slots };
}

function requirePositive(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value > 0) return;
  throw new ServingError('SHM_INVALID', `${field} of a shared-memory region must be a whole number > 0, got ${value}`);
}

function roundUp(bytes: number, unit: number): number {
  return Math.ceil(bytes / unit) * unit;
}
