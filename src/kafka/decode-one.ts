/** One record of a message that is processed again by itself: a retry, a replayed dead letter. */
import { ServingError } from '../errors.ts';
import type { RawMessage } from '../records/chunk.ts';
import type { Settle } from '../records/outcome.ts';
import type { RecordInFlight } from '../records/travel.ts';
import { type DecodeOptions, decodeMessage } from './decode.ts';

/** @param index position inside a batch message; undefined for a message that is one record */
export function decodeOne(
  raw: RawMessage,
  index: number | undefined,
  options: DecodeOptions,
  settle: Settle,
): RecordInFlight {
  // Of a message that is read otherwise than it was then (another version, other settings), what it says now counts.
  const records = decodeMessage(raw, options, () => {});
  const record = records[index ?? 0];
  if (record !== undefined && (index !== undefined || records.length === 1)) return { ...record, settle };
  const error = new ServingError(
    'CHUNK_INVALID',
    `value: ${index === undefined ? 'one record' : `a batch with a chunk at position ${index}`} was expected, ${records.length} found`,
  );
  return { kind: 'reject', error, raw, index, settle };
}
