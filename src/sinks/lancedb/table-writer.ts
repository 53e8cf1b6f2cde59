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
import { ServingError } from '../../errors.ts';
import type { VectorContract } from '../../kserve/contract.ts';
import type { Deletion } from '../../records/chunk.ts';
import type { Log } from '../../telemetry/log.ts';
import { planRemoval, planWrite, type StoredKey } from '../plan.ts';
import { isNewerRevision, type Revision } from '../revision.ts';
import type { RowOutcome, SinkRow } from '../sink.ts';
import { type CompactionState, isCompactionDue } from './compaction.ts';
import { translateLanceDbError } from './errors.ts';
import type { ArrowLibrary } from './library.ts';
import type { ResolvedLanceDbOptions } from './options.ts';
import { WriterQueue } from './queue.ts';
import { arrowToKeys, REVISION_COLUMNS, rowsToArrow } from './rows.ts';
import { KEY_COLUMN } from './schema.ts';
import { IS_NEWER_IN_MERGE, isIn, slices } from './sql.ts';
import type { TombstoneTable } from './tombstone-table.ts';

/** Ids of one filter: longer lists cost more to parse than they save in round trips. */
export const IDS_PER_FILTER = 2_048;

/** No chunk has an empty id. */
const NO_CHUNK = '';

export type TableWriterParts = {
  readonly table: Table;
  readonly tombstones: TombstoneTable;
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
  /** Version of our last commit; undefined after a compaction that failed, which may have made any number of them. */
  #version: number | undefined;
  /** A commit of ours ended without an answer: it may have happened. */
  #mayBeOneAhead = false;
  /** Once another writer was seen, nothing here can be trusted: every later call fails alike. */
  #stranger: ServingError | undefined;
  #compaction: CompactionState;
  #compacting = false;

  private constructor(parts: TableWriterParts, version: number, smallFragments: number) {
    this.#parts = parts;
    this.#version = version;
    this.#compaction = { commitsSince: smallFragments, lastEndedAtMs: parts.clock.monotonicMs(), lastDurationMs: 0 };
    this.#queue = new WriterQueue((rows) => this.#writeGroup(rows), parts.options.maxGroupRows);
  }

  static async start(parts: TableWriterParts): Promise<TableWriter> {
    const { table } = parts;
    const { fragmentStats } = await table.stats();
    return new TableWriter(parts, await table.version(), fragmentStats.numSmallFragments);
  }

  write(rows: readonly SinkRow[]): Promise<readonly RowOutcome[]> {
    return this.#queue.write(rows);
  }

  remove(deletions: readonly Deletion[]): Promise<readonly RowOutcome[]> {
    return this.#queue.alone(async () => {
      const outcomes = await this.#commit('deletion', () => this.#removeAndRemember(deletions));
      this.#compactIfDue();
      return outcomes;
    });
  }

  /** Resolves when all that was queued is done. */
  idle(): Promise<void> {
    return this.#queue.idle();
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
    const outcomes = await this.#commit('write', async () => {
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
    this.#compactIfDue();
    return outcomes;
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
    if (this.#stranger !== undefined) throw this.#stranger;
    try {
      await this.#checkVersion();
      return await work();
    } catch (error) {
      // Commits that were answered have been counted, so at most the one that failed is in doubt.
      this.#mayBeOneAhead = true;
      throw translateLanceDbError(error, `LanceDB ${what}`, this.#parts.where);
    }
  }

  async #checkVersion(): Promise<void> {
    const found = await this.#parts.table.version();
    const expected = this.#version ?? found;
    if (found !== expected && !(this.#mayBeOneAhead && found === expected + 1)) this.#refuseStranger(found);
    this.#version = found;
    this.#mayBeOneAhead = false;
  }

  #advance(version: number): void {
    this.#compaction = { ...this.#compaction, commitsSince: this.#compaction.commitsSince + 1 };
    if (this.#version !== undefined && version !== this.#version + 1) this.#refuseStranger(version);
    this.#version = version;
  }

  #refuseStranger(version: number): never {
    this.#stranger = new ServingError(
      'CONFIG_INVALID',
      `another process changes the LanceDB table "${this.#parts.options.table}" at ${this.#parts.where}: a table takes one writer. ` +
        'Give each worker its own RAG_SERVING_LANCEDB_TABLE, run one worker, or choose RAG_SERVING_SINK=redis',
      { details: { expectedVersion: this.#version, foundVersion: version } },
    );
    throw this.#stranger;
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

  #compactIfDue(): void {
    const { options, clock } = this.#parts;
    if (this.#compacting || !isCompactionDue(this.#compaction, options.compactAfterCommits, clock.monotonicMs()))
      return;
    this.#compacting = true;
    void this.#queue.alone(() => this.#compact());
  }

  /** A failed compaction loses nothing: it is tried again after as many commits. */
  async #compact(): Promise<void> {
    const { table, tombstones, options, clock, log, where } = this.#parts;
    const startedAtMs = clock.monotonicMs();
    const cleanupOlderThan = new Date(clock.wallMs() - options.keepVersionsMs);
    try {
      await this.#checkVersion();
      await table.optimize({ cleanupOlderThan });
      this.#version = await table.version();
      await tombstones.compact(clock.wallMs(), cleanupOlderThan);
    } catch (error) {
      this.#version = undefined;
      log.warn('compaction failed', { err: translateLanceDbError(error, 'LanceDB compaction', where) });
    }
    const endedAtMs = clock.monotonicMs();
    this.#compaction = { commitsSince: 0, lastEndedAtMs: endedAtMs, lastDurationMs: endedAtMs - startedAtMs };
    this.#compacting = false;
  }
}
