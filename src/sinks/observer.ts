/** What stores tell while they work, for metrics and readiness. Nothing here may throw, and nothing waits for it. */
import type { ServingError } from '../errors.ts';

export type SinkCall = {
  /** Name of the one store, also within a fan-out. */
  readonly sink: string;
  readonly operation: 'open' | 'write' | 'remove' | 'ping';
  readonly seconds: number;
  /** Of a `write` that was answered. */
  readonly rows: { readonly stored: number; readonly superseded: number; readonly refused: number } | undefined;
  /** Of a call that failed as a whole. */
  readonly error: ServingError | undefined;
};

/** A table that is kept by its writer, as it was when it was last looked after. */
export type TableCondition = {
  readonly rows: number;
  readonly fragments: number;
  readonly versions: number;
  /** Rows that a search scans: all of them without a vector index. */
  readonly unindexedRows: number;
  /** Undefined before the first compaction. */
  readonly lastCompactionSeconds: number | undefined;
};

export type SinkObserver = {
  called(call: SinkCall): void;
  tableIs(condition: TableCondition): void;
};
