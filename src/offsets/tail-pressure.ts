/**
 * When a partition must wait because what is done beyond its commit point would soon not fit into the commit metadata.
 *
 * Only a partition with open offsets ever waits: one of them is what holds the commit point, it is in flight already, and
 * when it is done there is room again.
 */
import { tailBytes } from './commit-metadata.ts';
import type { OffsetLedger } from './ledger.ts';

const FULL_RATIO = 0.75;
/** A bitset takes four characters for 24 offsets, and less than this beside them. */
const OFFSETS_A_BYTE = 6;
const BESIDE_BYTES = 32;

/** `maxBytes` 0: no metadata is kept, so there is nothing to wait for. */
export function tailIsFull(ledger: OffsetLedger, maxBytes: number): boolean {
  if (maxBytes === 0 || ledger.open === 0) return false;
  const limit = maxBytes * FULL_RATIO;
  // The common case, without looking at what is done.
  if (Number(ledger.doneEnd - ledger.commitPoint) / OFFSETS_A_BYTE + BESIDE_BYTES <= limit) return false;
  return tailBytes(ledger.commitPoint, ledger.doneBeyond()) > limit;
}
