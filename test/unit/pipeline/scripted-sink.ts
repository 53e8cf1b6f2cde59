/** A store in memory that fails, refuses or waits when the test says so. */
import { ServingError } from '../../../src/errors.ts';
import type { Deletion } from '../../../src/records/chunk.ts';
import { isNewerRevision } from '../../../src/sinks/revision.ts';
import type { RowOutcome, SearchHit, Sink, SinkRow, StoredRow } from '../../../src/sinks/sink.ts';

export class ScriptedSink implements Sink {
  readonly name = 'scripted';
  readonly rows = new Map<string, SinkRow>();
  readonly log: string[] = [];
  failures = 0;
  refuse: string | undefined;
  /** While set, writes wait for it. */
  barrier: Promise<void> | undefined;

  async open(): Promise<void> {}
  async inspect(): Promise<undefined> {}

  async write(rows: readonly SinkRow[]): Promise<readonly RowOutcome[]> {
    await this.barrier;
    this.#failMaybe();
    return rows.map((row) => {
      if (row.chunkId === this.refuse) {
        return { kind: 'refused', error: new ServingError('SINK_ROW_REFUSED', 'wrong type of key') };
      }
      const stored = this.rows.get(row.chunkId);
      if (stored !== undefined && !isNewerRevision(row, stored)) return { kind: 'superseded' };
      this.rows.set(row.chunkId, row);
      this.log.push(`write ${row.chunkId}`);
      return { kind: 'stored' };
    });
  }

  async remove(deletions: readonly Deletion[]): Promise<readonly RowOutcome[]> {
    await this.barrier;
    this.#failMaybe();
    return deletions.map(({ scope, id }) => {
      for (const row of [...this.rows.values()]) {
        if ((scope === 'chunk' ? row.chunkId : row.documentId) === id) this.rows.delete(row.chunkId);
      }
      this.log.push(`delete ${id}`);
      return { kind: 'stored' };
    });
  }

  #failMaybe(): void {
    if (this.failures-- > 0) throw new ServingError('SINK_UNAVAILABLE', 'no connection');
  }

  async ping(): Promise<void> {}
  async count(): Promise<number> {
    return this.rows.size;
  }
  async search(): Promise<readonly SearchHit[]> {
    return [];
  }
  async fetch(): Promise<readonly StoredRow[]> {
    return [];
  }
  async close(): Promise<void> {}
}
