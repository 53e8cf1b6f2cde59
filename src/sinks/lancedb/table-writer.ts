/**
 * Everything that changes the table, in one lane (queue.ts): grouped writes, deletions, compaction.
 *
 * It reads the revisions of a group's ids first and decides in TypeScript (plan.ts). That is right as long as ONE process
 * writes the table, so each commit is checked to be the successor of our last one. With two writers LanceDB would
 * silently store a key twice; here the commit of a stranger ends in a fatal error that says so.
 */
import type { MergeResult, Table } from '@lancedb/lancedb';
import type { Table as ArrowTable, Schema } from 'apache-arrow';
import type { Clock } from '../../clock.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { planRemoval, planWrite, type StoredKey } from '../plan.ts';
import { isNewerRevision, type Revision } from '../revision.ts';
import type { RowOutcome, SinkRow } from '../sink.ts';
import { translateLanceDbError } from './errors.ts';
import type { ArrowLibrary, LanceDbLibrary } from './library.ts';
import { Maintenance } from './maintenance.ts';
import type { ResolvedLanceDbOptions } from './options.ts';
import { WriterQueue } from './queue.ts';
import { arrowToKeys, REVISION_COLUMNS, rowsToArrow } from './rows.ts';
import { KEY_COLUMN } from './schema.ts';
import { IS_NEWER_IN_MERGE, isIn, slices } from './sql.ts';
import type { TombstoneTable } from './tombstone-table.ts';
import { VersionGuard } from './version-guard.ts';

/** Ids of one filter: longer lists cost more to parse than they save in round trips. */
export const IDS_PER_FILTER = 2_048;

/** No chunk has an empty id. */
const NO_CHUNK = '';

export type TableWriterParts = {
  readonly table: Table;
  readonly tombstones: TombstoneTable;
  readonly lancedb: LanceDbLibrary;
  readonly arrow: ArrowLibrary;
  readonly schema: Schema;
  readonly contract: VectorContract;
  readonly options: ResolvedLanceDbOptions;
  /** Folder or address as shown in messages. */
  readonly where: string;
  readonly log: Log;
  readonly clock: Clock;
};

export class TableWriter {
  readonly #parts: TableWriterParts;
  readonly #queue: WriterQueue<SinkRow, RowOutcome>;
  readonly #guard: VersionGuard;
  readonly #maintenance: Maintenance;

  private constructor(
    parts: TableWriterParts,
    guard: VersionGuard,
    queue: WriterQueue<SinkRow, RowOutcome>,
    maintenance: Maintenance,
  ) {
    this.#parts = parts;
    this.#guard = guard;
    this.#queue = queue;
    this.#maintenance = maintenance;
  }

  static async start(parts: TableWriterParts): Promise<TableWriter> {
    const { table, options, where } = parts;
    const guard = new VersionGuard(`LanceDB table "${options.table}" at ${where}`, await table.version());
    const queue: WriterQueue<SinkRow, RowOutcome> = new WriterQueue(
      (rows) => writer.#writeGroup(rows),
      options.maxGroupRows,
    );
    const maintenance = await Maintenance.start({ ...parts, guard, alone: (work) => queue.alone(work) });
    const writer = new TableWriter(parts, guard, queue, maintenance);
    return writer;
  }

  get searched(): Maintenance['searched'] {
    return this.#maintenance.searched;
  }

  write(rows: readonly SinkRow[]): Promise<readonly RowOutcome[]> {
    return this.#queue.write(rows);
  }

  remove(deletions: readonly Deletion[]): Promise<readonly RowOutcome[]> {
    return this.#queue.alone(() => this.#commit('deletion', () => this.#removeAndRemember(deletions)));
  }

  /** Nothing new begins behind the writer's back; resolves when all that was queued is done. */
  async finish(): Promise<void> {
    this.#maintenance.stop();
    await this.#queue.idle();
    await this.#maintenance.idle();
  }

  async #removeAndRemember(deletions: readonly Deletion[]): Promise<readonly RowOutcome[]> {
    const { table, tombstones, clock } = this.#parts;
    const nowMs = clock.wallMs();
    const plan = planRemoval(deletions, await this.#keysNamedBy(deletions), (deletion) =>
      tombstones.known.repeats(deletion, nowMs),
    );
    if (plan.marks.length === 0 && plan.chunkIds.length === 0) return plan.outcomes;
    // Also with no row to delete: this commit is what tells a second writer, who would not know the tombstone, to stop.
    const chunkIds = plan.chunkIds.length === 0 ? [NO_CHUNK] : plan.chunkIds;
    for (const ids of slices(chunkIds, IDS_PER_FILTER)) {
      this.#advance((await table.delete(isIn(KEY_COLUMN, ids))).version);
    }
    await tombstones.record(plan.marks, nowMs);
    return plan.outcomes;
  }

  async #writeGroup(rows: readonly SinkRow[]): Promise<readonly RowOutcome[]> {
    const { table, tombstones, arrow, schema, contract, clock } = this.#parts;
    return this.#commit('write', async () => {
      const ids = [...new Set(rows.map((row) => row.chunkId))];
      const stored = new Map<string, StoredKey>();
      for (const slice of slices(ids, IDS_PER_FILTER)) {
        for (const key of await this.#keys(isIn(KEY_COLUMN, slice))) stored.set(key.chunkId, key);
      }
      const nowMs = clock.wallMs();
      const plan = planWrite(rows, stored, (row) => tombstones.known.covers(row, nowMs));
      if (plan.winners.length === 0) return plan.outcomes;
      const data = rowsToArrow(arrow, schema, plan.winners, contract);
      // Appending is a third of the price of a merge, and most rows of an ingestion are new.
      const { version } = plan.replaces ? await this.#merge(plan.winners, stored, data) : await table.add(data);
      this.#advance(version);
      return plan.outcomes;
    });
  }

  /** Replaces on a condition, so that a newer row that a stranger wrote since we read stays; `#advance` then notices him. */
  #merge(winners: readonly SinkRow[], stored: ReadonlyMap<string, Revision>, data: ArrowTable): Promise<MergeResult> {
    // Within one call a row may have won over one of another partition that won over the stored one.
    const allDirect = winners.every((row) => {
      const current = stored.get(row.chunkId);
      return current === undefined || isNewerRevision(row, current);
    });
    const merge = this.#parts.table.mergeInsert(KEY_COLUMN);
    const matched = allDirect ? merge.whenMatchedUpdateAll({ where: IS_NEWER_IN_MERGE }) : merge.whenMatchedUpdateAll();
    return matched.whenNotMatchedInsertAll().execute(data);
  }

  async #commit<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#guard.begin();
    try {
      this.#guard.check(await this.#parts.table.version());
      return await work();
    } catch (error) {
      this.#guard.failed();
      throw translateLanceDbError(error, `LanceDB ${what}`, this.#parts.where);
    }
  }

  #advance(version: number): void {
    this.#guard.advance(version);
    this.#maintenance.committed();
  }

  async #keysNamedBy(deletions: readonly Deletion[]): Promise<StoredKey[]> {
    const keys = new Map<string, StoredKey>();
    for (const [scope, column] of [
      ['chunk', KEY_COLUMN],
      ['document', 'document_id'],
    ] as const) {
      const ids = [...new Set(deletions.filter((deletion) => deletion.scope === scope).map(({ id }) => id))];
      for (const slice of slices(ids, IDS_PER_FILTER)) {
        for (const key of await this.#keys(isIn(column, slice))) keys.set(key.chunkId, key);
      }
    }
    return [...keys.values()];
  }

  async #keys(filter: string): Promise<StoredKey[]> {
    return arrowToKeys(await this.#parts.table.query().where(filter).select(REVISION_COLUMNS).toArrow());
  }
}
