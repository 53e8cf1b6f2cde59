/**
 * A call's rows as statements: as few as its doubles and its size allow, and of a statement that a row spoils its halves,
 * down to the row itself, which alone is refused.
 *
 * Rows of one id go into statements one after the other: in one, PostgreSQL would refuse the second of them, for ever.
 */
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import { lastOfEachStored } from '../last-of-each.ts';
import type { RowOutcome, SinkRow } from '../sink.ts';
import type { PgConnection } from './connection.ts';
import { isRowFault, translatePostgresError } from './errors.ts';
import { unescapeText } from './escape.ts';
import { elementDtype, isFiniteVector, type PackedRow, recode, sizeOf, writeParameters } from './rows.ts';
import type { ElementType } from './schema.ts';

const MAX_ROWS = 1_000;
const MAX_BYTES = 16_777_216;

export type WriteTarget = {
  readonly connection: PgConnection;
  readonly contract: VectorContract;
  readonly type: ElementType;
  /** The statement. */
  readonly write: string;
  /** Tombstones of this time or before count no more. */
  readonly oldestMs: number;
};

/** One outcome a row, in order. */
export async function writeRows(rows: readonly SinkRow[], target: WriteTarget): Promise<RowOutcome[]> {
  const { contract, type } = target;
  const dtype = elementDtype(type.element);
  const outcomes: (RowOutcome | undefined)[] = rows.map(() => undefined);
  const packed = rows.map((row): PackedRow => ({ row, vector: recode(row.vector, contract.dtype, dtype) }));
  const fit = [...packed.keys()].filter((index) => {
    if (isFiniteVector(packed[index]!.vector, dtype)) return true;
    outcomes[index] = { kind: 'refused', error: notFinite(rows[index]!, type) };
    return false;
  });
  for (const round of rounds(fit, (index) => rows[index]!.chunkId)) {
    for (const slice of slices(round, (index) => sizeOf(packed[index]!))) {
      const written = await writeSlice(
        slice.map((index) => packed[index]!),
        target,
      );
      for (const [at, index] of slice.entries()) outcomes[index] = written[at];
    }
  }
  return lastOfEachStored(rows, outcomes as RowOutcome[]);
}

async function writeSlice(packed: readonly PackedRow[], target: WriteTarget): Promise<RowOutcome[]> {
  const { connection, contract, type, write, oldestMs } = target;
  try {
    const values = writeParameters(packed, contract, type, oldestMs);
    const answers = await connection.transaction('shared', { text: write, values });
    const stored = new Set(answers.map((row) => unescapeText(row.chunk_id as string)));
    return packed.map(({ row }) => ({ kind: stored.has(row.chunkId) ? 'stored' : 'superseded' }));
  } catch (error) {
    if (!isRowFault(error)) throw error;
    if (packed.length === 1) {
      return [{ kind: 'refused', error: translatePostgresError(error, 'write', connection.server) }];
    }
    const half = packed.length >> 1;
    return [...(await writeSlice(packed.slice(0, half), target)), ...(await writeSlice(packed.slice(half), target))];
  }
}

/** The n-th time that a key comes, it is in the n-th round. */
function rounds(indices: readonly number[], keyOf: (index: number) => string): number[][] {
  const times = new Map<string, number>();
  const found: number[][] = [];
  for (const index of indices) {
    const key = keyOf(index);
    const round = times.get(key) ?? 0;
    times.set(key, round + 1);
    (found[round] ??= []).push(index);
  }
  return found;
}

function slices(indices: readonly number[], bytesOf: (index: number) => number): number[][] {
  const found: number[][] = [];
  let bytes = 0;
  for (const index of indices) {
    const size = bytesOf(index);
    const open = found.at(-1);
    if (open === undefined || open.length === MAX_ROWS || bytes + size > MAX_BYTES) {
      found.push([index]);
      bytes = size;
    } else {
      open.push(index);
      bytes += size;
    }
  }
  return found;
}

function notFinite({ source }: SinkRow, { element }: ElementType): ServingError {
  return new ServingError('SINK_ROW_REFUSED', `the row's vector holds a value that is not finite as ${element}`, {
    details: { field: 'vector', offset: source.offset, partition: source.partition },
  });
}
