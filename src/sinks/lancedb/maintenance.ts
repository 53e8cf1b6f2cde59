/**
 * Keeps the table fast behind the writer's back: compaction, removal of old versions, folding new rows into the indexes,
 * and building the vector index. Never two at once.
 *
 * A compaction begins in the writer's lane, where nothing can conflict with it, and gives the lane back after a while: what
 * is left of it goes on beside the writes. LanceDB lets the writer's commit go first, and a compaction that came too late
 * changes nothing and is tried again. The same holds for a process that is killed in the middle: what was not committed is
 * files that no version names.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Table } from '@lancedb/lancedb';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { TableCondition } from '../observer.ts';
import { type CompactionState, isCompactionDue, laneLimitMs } from './compaction.ts';
import { isCommitConflict, translateLanceDbError } from './errors.ts';
import type { LanceDbLibrary } from './library.ts';
import type { ResolvedLanceDbOptions } from './options.ts';
import type { TombstoneTable } from './tombstone-table.ts';
import { type FoundIndex, indexConfig, isIndexDue, VECTOR_COLUMN, vectorIndexOf } from './vector-index.ts';
import type { VersionGuard } from './version-guard.ts';

export type MaintenanceParts = {
  readonly table: Table;
  readonly tombstones: TombstoneTable;
  readonly lancedb: LanceDbLibrary;
  readonly guard: VersionGuard;
  readonly options: ResolvedLanceDbOptions;
  readonly where: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Runs in the writer's lane, with nothing beside it. */
  readonly alone: (work: () => Promise<void>) => Promise<void>;
};

const LOOK_EVERY_MS = 60_000;

export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #timer: NodeJS.Timeout;
  #compaction: CompactionState;
  #running: Promise<void> | undefined;
  #stopped = false;
  #lastCompactionSeconds: number | undefined;
  #index: FoundIndex | undefined;
  #rows = 0;

  private constructor(parts: MaintenanceParts, smallFragments: number) {
    this.#parts = parts;
    this.#compaction = { commitsSince: smallFragments, lastEndedAtMs: parts.clock.monotonicMs(), lastDurationMs: 0 };
    this.#timer = setInterval(() => this.#runAfter(1), parts.options.maintenanceIntervalMs);
    this.#timer.unref();
  }

  static async start(parts: MaintenanceParts): Promise<Maintenance> {
    const { fragmentStats } = await parts.table.stats();
    const maintenance = new Maintenance(parts, fragmentStats.numSmallFragments);
    try {
      await maintenance.#look();
    } catch (error) {
      maintenance.stop();
      throw error;
    }
    return maintenance;
  }

  /** The vector index, and about how many rows there are. */
  get searched(): { readonly index: FoundIndex | undefined; readonly rows: number } {
    return { index: this.#index, rows: this.#rows };
  }

  /** The writer made a commit. */
  committed(): void {
    this.#compaction = { ...this.#compaction, commitsSince: this.#compaction.commitsSince + 1 };
    this.#runAfter(this.#parts.options.compactAfterCommits);
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  #runAfter(commits: number): void {
    if (this.#stopped || this.#running !== undefined) return;
    if (!isCompactionDue(this.#compaction, commits, this.#parts.clock.monotonicMs())) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** A failure loses nothing: it is tried again after as many commits. */
  #lookedAtMs: number | undefined;

  async #run(): Promise<void> {
    const { options, log, where } = this.#parts;
    let step = 'compaction';
    try {
      await this.#compactFromLane();
      step = 'a look at the table';
      await this.#look();
      step = 'building the vector index';
      if (!this.#stopped && isIndexDue(options.index, this.#index, this.#rows, options.indexMinRows)) {
        await this.#buildIndex();
        await this.#look();
      }
    } catch (error) {
      if (isCommitConflict(error)) log.info('maintenance gave way to writes', { step });
      else if (!this.#stopped) {
        log.warn('maintenance failed', { step, err: translateLanceDbError(error, `LanceDB ${step}`, where) });
      }
    }
  }

  async #compactFromLane(): Promise<void> {
    const { guard, table, alone, options } = this.#parts;
    let work: Promise<void> = Promise.resolve();
    let isBeside = false;
    await alone(async () => {
      if (this.#stopped) return;
      guard.begin();
      guard.check(await table.version());
      guard.maintenanceBegins();
      work = this.#compact().finally(async () => {
        const version = isBeside ? undefined : await table.version().catch(() => undefined);
        guard.maintenanceEnds(isBeside ? undefined : version);
      });
      const limit = new AbortController();
      const ended = work.catch(() => {});
      await Promise.race([ended, sleep(laneLimitMs(options.writeTimeoutMs), undefined, limit).catch(() => {})]);
      limit.abort();
      isBeside = true;
    });
    await work;
  }

  async #compact(): Promise<void> {
    const { table, tombstones, options, clock } = this.#parts;
    const startedAtMs = clock.monotonicMs();
    const before = this.#compaction.commitsSince;
    const cleanupOlderThan = new Date(clock.wallMs() - options.keepVersionsMs);
    try {
      await table.optimize({ cleanupOlderThan });
      await tombstones.compact(clock.wallMs(), cleanupOlderThan);
      this.#lastCompactionSeconds = (clock.monotonicMs() - startedAtMs) / 1_000;
    } finally {
      const endedAtMs = clock.monotonicMs();
      const commitsSince = this.#compaction.commitsSince - before;
      this.#compaction = { commitsSince, lastEndedAtMs: endedAtMs, lastDurationMs: endedAtMs - startedAtMs };
    }
  }

  /** Takes minutes for a million rows; beside the writes from the start. */
  async #buildIndex(): Promise<void> {
    const { table, lancedb, guard, options, log, clock } = this.#parts;
    if (options.index === 'none') return;
    const startedAtMs = clock.monotonicMs();
    log.info('building the vector index', { index: options.index, rows: this.#rows });
    guard.maintenanceBegins();
    try {
      const config = indexConfig(lancedb, options.index, this.#rows);
      await table.createIndex(VECTOR_COLUMN, { config, replace: true });
    } finally {
      guard.maintenanceEnds(undefined);
    }
    const seconds = Math.round((clock.monotonicMs() - startedAtMs) / 1_000);
    log.info('the vector index is built', { index: options.index, rows: this.#rows, seconds });
  }

  /** Where no index waits for it at most once a minute: it reads every version of the table, and that stays in memory for a while. */
  async #look(): Promise<void> {
    const { table, options, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    const isRecent = this.#lookedAtMs !== undefined && nowMs - this.#lookedAtMs < LOOK_EVERY_MS;
    if (options.index === 'none' && isRecent) return;
    this.#lookedAtMs = nowMs;
    const [indices, { numRows, fragmentStats }, versions] = await Promise.all([
      table.listIndices(),
      table.stats(),
      table.listVersions(),
    ]);
    this.#rows = numRows;
    this.#index = vectorIndexOf(indices);
    const condition: TableCondition = {
      rows: numRows,
      fragments: fragmentStats.numFragments,
      versions: versions.length,
      unindexedRows: this.#index?.unindexedRows ?? numRows,
      lastCompactionSeconds: this.#lastCompactionSeconds,
    };
    options.onTable(condition);
  }
}
