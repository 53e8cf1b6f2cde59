/**
 * The ids of a table in order, a page at a time.
 *
 * LanceDB cannot sort, and its offsets move with every commit. So the smallest ids after a point are picked from a stream
 * of all of them and kept as a window for the pages that follow: memory is bounded, and each window costs one look at
 * the id column.
 */
import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { KEY_COLUMN } from './schema.ts';
import { literal } from './sql.ts';

const WINDOW_IDS = 65_536;
/** Ids that are held beside the window before they are sorted into it. */
const SLACK_IDS = 65_536;

export class IdWindow {
  #after: string | undefined;
  #ids: readonly string[] = [];
  #isLast = false;

  /** At most `limit` ids; fewer only at the end. */
  async after(table: Table, after: string | undefined, limit: number): Promise<readonly string[]> {
    const isHere = this.#after === after && (this.#ids.length >= limit || this.#isLast);
    if (!isHere) await this.#fill(table, after);
    const page = this.#ids.slice(0, limit);
    this.#ids = this.#ids.slice(limit);
    this.#after = page.at(-1);
    // A walk that is over leaves nothing behind for one that begins anew.
    if (page.length < limit) this.#isLast = false;
    return page;
  }

  async #fill(table: Table, after: string | undefined): Promise<void> {
    const query = table.query().select([KEY_COLUMN]);
    if (after !== undefined) query.where(`${KEY_COLUMN} > ${literal(after)}`);
    let ids: string[] = [];
    for await (const batch of query as AsyncIterable<RecordBatch>) {
      for (const id of batch.getChild(KEY_COLUMN) ?? []) ids.push(id as string);
      if (ids.length > WINDOW_IDS + SLACK_IDS) ids = smallest(ids);
    }
    this.#isLast = ids.length <= WINDOW_IDS;
    this.#ids = smallest(ids);
    this.#after = after;
  }
}

/** By their bytes, as LanceDB compares them: JavaScript's own order is another one beyond the first plane of Unicode. */
function smallest(ids: readonly string[]): string[] {
  return ids
    .map((id) => ({ id, bytes: Buffer.from(id) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .slice(0, WINDOW_IDS)
    .map(({ id }) => id);
}
