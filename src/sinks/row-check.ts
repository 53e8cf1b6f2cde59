/**
 * Which rows of a call a store may see at all; pure.
 *
 * Stores differ in what they do with a bad value (LanceDB would fail the whole Arrow batch, Redis would turn a lone
 * surrogate into U+FFFD and so give two ids one key). Refusing such a row here keeps its neighbours and makes every
 * sink answer alike. NUL is an ordinary character.
 */
import { ServingError } from '../errors.ts';
import { bytesPerVector, type VectorContract } from '../kserve/contract.ts';
import type { RowOutcome, SinkRow } from './sink.ts';

export type ScreenedRows = {
  readonly accepted: readonly SinkRow[];
  /** Outcomes of the whole call, in order, from the outcomes of the accepted rows. */
  complete(outcomes: readonly RowOutcome[]): RowOutcome[];
};

/** Vectors are copied: the caller may reuse the memory under them once it gives up, while the store still holds the row. */
export function screenRows(rows: readonly SinkRow[], contract: VectorContract): ScreenedRows {
  const accepted: SinkRow[] = [];
  const refusals = rows.map((row): RowOutcome | undefined => {
    const error = rowFault(row, contract);
    if (error !== undefined) return { kind: 'refused', error };
    accepted.push({ ...row, vector: new Uint8Array(row.vector) });
    return undefined;
  });
  return {
    accepted,
    complete: (outcomes) => {
      let next = 0;
      return refusals.map((refusal) => refusal ?? outcomes[next++]!);
    },
  };
}

/** What makes this row unfit for any store, or undefined. */
export function rowFault(row: SinkRow, contract: VectorContract): ServingError | undefined {
  const expectedBytes = bytesPerVector(contract);
  if (row.vector.length !== expectedBytes) {
    return refuse(
      row,
      'vector',
      `has ${row.vector.length} bytes; ${contract.dims} dims of ${contract.dtype} are ${expectedBytes}`,
    );
  }
  for (const field of ['chunkId', 'documentId', 'tenantId', 'text'] as const) {
    const value = row[field];
    if (value !== undefined && hasLoneSurrogate(value)) return refuse(row, field, 'holds half of a surrogate pair');
  }
  if (row.chunkId.length === 0) return refuse(row, 'chunkId', 'is empty');
  if (row.version !== undefined && !(Number.isSafeInteger(row.version) && row.version >= 0)) {
    return refuse(row, 'version', 'is no integer from 0 to 2^53 - 1');
  }
  if (row.source.offset < 0n) return refuse(row, 'source.offset', 'is negative');
  return undefined;
}

export function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

function refuse(row: SinkRow, field: string, why: string): ServingError {
  return new ServingError('SINK_ROW_REFUSED', `the row's ${field} ${why}`, {
    details: { field, offset: row.source.offset, partition: row.source.partition },
  });
}
