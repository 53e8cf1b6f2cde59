/**
 * How the ledger of a gained partition begins, from where the client begins to read and what the broker holds as committed.
 *
 * The two come by different ways and may disagree. The tail of a former owner counts only when reading really begins at the
 * offset that it is stored with; the commit never moves behind what the broker holds.
 */
import { decodeTail } from './commit-metadata.ts';
import { OffsetLedger } from './ledger.ts';
import { countOffsets } from './offset-range.ts';

/** What the broker holds for a partition of the group. */
export type BrokerOffset = {
  /** Negative when nothing, or nothing usable, is committed. */
  readonly offset: bigint;
  readonly metadata: string;
};

export const NOTHING_COMMITTED: BrokerOffset = { offset: -1n, metadata: '' };

export type Opening = {
  readonly ledger: OffsetLedger;
  readonly committed: bigint | undefined;
  readonly committedMetadata: string;
  /** Offsets that a former owner has done and that are not processed again. */
  readonly restored: bigint;
  /** Why the metadata was not used; undefined when it was, or when there was none. */
  readonly ignored: string | undefined;
};

export function openLedger(start: bigint, held: BrokerOffset): Opening {
  const ledger = new OffsetLedger(start);
  if (held.offset < 0n) {
    return { ledger, committed: undefined, committedMetadata: '', restored: 0n, ignored: undefined };
  }
  const opening = { ledger, committed: held.offset, committedMetadata: held.metadata };
  if (held.offset !== start) {
    ledger.skipTo(held.offset);
    const ignored = held.metadata === '' ? undefined : 'reading does not begin at the committed offset';
    return { ...opening, restored: 0n, ignored };
  }
  const tail = decodeTail(start, held.metadata);
  if (tail.kind !== 'tail')
    return { ...opening, restored: 0n, ignored: tail.kind === 'ignored' ? tail.why : undefined };
  ledger.restore(tail.done);
  return { ...opening, restored: countOffsets(tail.done), ignored: undefined };
}
