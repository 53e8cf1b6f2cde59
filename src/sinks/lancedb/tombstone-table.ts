/**
 * The table of tombstones beside the table of chunks: `<table>_tombstones`, one row a deletion.
 *
 * It is read once, at open, and from then on kept in memory as well, so that a write costs no query more. A row here
 * says that its deletion was carried out: it is added after the rows of the chunks are gone. A crash in between leaves
 * a deletion without an acknowledgement, which comes again.
 */
import type { Connection, Table } from '@lancedb/lancedb';
import type { Table as ArrowTable, Schema } from 'apache-arrow';
import { ServingError } from '../../errors.ts';
import { type Mark, type Tombstone, Tombstones } from '../tombstones.ts';
import type { ArrowLibrary } from './library.ts';
import { missingColumns } from './schema.ts';
import { openOrCreate } from './tables.ts';

export type TombstoneTableParts = {
  readonly connection: Connection;
  readonly arrow: ArrowLibrary;
  /** Name of the table of chunks. */
  readonly chunkTable: string;
  readonly retentionMs: number;
  readonly where: string;
};

export class TombstoneTable {
  readonly #table: Table;
  readonly #arrow: ArrowLibrary;
  readonly #schema: Schema;
  readonly #retentionMs: number;
  readonly #known: Tombstones;
  #changedSinceCompaction = false;

  private constructor(table: Table, schema: Schema, { arrow, retentionMs }: TombstoneTableParts) {
    this.#table = table;
    this.#arrow = arrow;
    this.#schema = schema;
    this.#retentionMs = retentionMs;
    this.#known = new Tombstones(retentionMs);
  }

  static async open(parts: TombstoneTableParts, nowMs: number): Promise<TombstoneTable> {
    const name = `${parts.chunkTable}_tombstones`;
    const schema = tombstoneSchema(parts.arrow);
    const table = await openOrCreate(parts.connection, name, schema);
    const missing = missingColumns(schema, await table.schema());
    if (missing.length > 0) {
      throw new ServingError(
        'SINK_SCHEMA_MISMATCH',
        `LanceDB table "${name}" at ${parts.where} was not made by rag-serving (columns missing: ${missing.join(', ')}): ` +
          'name another RAG_SERVING_LANCEDB_TABLE; deletions are kept beside it',
      );
    }
    const opened = new TombstoneTable(table, schema, parts);
    await opened.#load(nowMs);
    return opened;
  }

  get known(): Pick<Tombstones, 'covers' | 'repeats'> {
    return this.#known;
  }

  /** A failed call may have written all the same; writing a tombstone once more changes nothing. */
  async record(marks: readonly Mark[], nowMs: number): Promise<void> {
    const tombstones = marks.map((mark): Tombstone => ({ ...mark, deletedAtMs: nowMs }));
    if (tombstones.length === 0) return;
    this.#changedSinceCompaction = true;
    await this.#table.add(tombstonesToArrow(this.#arrow, this.#schema, tombstones));
    for (const tombstone of tombstones) this.#known.record(tombstone);
  }

  /** Leaves one file of the tombstones that still count. */
  async compact(nowMs: number, cleanupOlderThan: Date): Promise<void> {
    if (!this.#changedSinceCompaction) return;
    this.#known.expire(nowMs);
    // Before the work: what is recorded beside it belongs to the next one.
    this.#changedSinceCompaction = false;
    try {
      await this.#table.delete(`deleted_at_ms <= ${nowMs - this.#retentionMs}`);
      await this.#table.optimize({ cleanupOlderThan });
    } catch (error) {
      this.#changedSinceCompaction = true;
      throw error;
    }
  }

  close(): void {
    this.#table.close();
  }

  async #load(nowMs: number): Promise<void> {
    const rows = await this.#table
      .query()
      .where(`deleted_at_ms > ${nowMs - this.#retentionMs}`)
      .toArrow();
    for (const tombstone of arrowToTombstones(rows)) this.#known.record(tombstone);
    // What expired while nobody was here goes with the first compaction.
    this.#changedSinceCompaction = rows.numRows < (await this.#table.countRows());
  }
}

function tombstoneSchema(arrow: ArrowLibrary): Schema {
  return new arrow.Schema([
    new arrow.Field('scope', new arrow.Utf8(), false),
    new arrow.Field('id', new arrow.Utf8(), false),
    new arrow.Field('source_topic', new arrow.Utf8(), false),
    new arrow.Field('source_partition', new arrow.Int32(), false),
    new arrow.Field('source_offset', new arrow.Int64(), false),
    new arrow.Field('deleted_at_ms', new arrow.Int64(), false),
  ]);
}

function tombstonesToArrow(arrow: ArrowLibrary, schema: Schema, tombstones: readonly Tombstone[]): ArrowTable {
  const columns = {
    scope: tombstones.map(({ scope }) => scope),
    id: tombstones.map(({ id }) => id),
    source_topic: tombstones.map(({ source }) => source.topic),
    source_partition: tombstones.map(({ source }) => source.partition),
    source_offset: tombstones.map(({ source }) => source.offset),
    deleted_at_ms: tombstones.map(({ deletedAtMs }) => BigInt(Math.trunc(deletedAtMs))),
  };
  const children = schema.fields.map(
    (field) => arrow.vectorFromArray(columns[field.name as keyof typeof columns], field.type).data[0]!,
  );
  const struct = new arrow.Struct(schema.fields);
  const data = arrow.makeData({ type: struct, length: tombstones.length, nullCount: 0, children });
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data)]);
}

function arrowToTombstones(table: ArrowTable): Tombstone[] {
  const columns = new Map(table.schema.fields.map(({ name }) => [name, table.getChild(name)]));
  const at = <T>(column: string, row: number) => columns.get(column)?.get(row) as T;
  return Array.from({ length: table.numRows }, (_, row) => ({
    scope: at<Mark['scope']>('scope', row),
    id: at<string>('id', row),
    source: {
      topic: at<string>('source_topic', row),
      partition: at<number>('source_partition', row),
      offset: at<bigint>('source_offset', row),
    },
    deletedAtMs: Number(at<bigint>('deleted_at_ms', row)),
  }));
}
