/** Reading a collection from end to end: promises of those sinks that offer it. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ScanPage, Sink, StoredRow } from '../../src/sinks/sink.ts';
import { freshCollection, type SinkHarness } from './sink-contract.ts';
import { contractOf, deletionOf, rowOf, vectorOf } from './sink-rows.ts';

type ScanHarness = Pick<SinkHarness, 'create' | 'durable'>;

async function opened(harness: ScanHarness, collection = freshCollection()): Promise<Sink> {
  const sink = await harness.create(collection);
  onTestFinished(() => sink.close());
  await sink.open(contractOf());
  return sink;
}

async function walk(
  sink: Sink,
  limit: number,
  onPage: (page: ScanPage) => Promise<void> = async () => {},
  from?: string,
): Promise<StoredRow[]> {
  const rows: StoredRow[] = [];
  let after = from;
  do {
    const page = (await sink.scan?.(after, limit)) ?? { rows: [], next: undefined };
    rows.push(...page.rows);
    await onPage(page);
    after = page.next;
  } while (after !== undefined);
  return rows;
}

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => rowOf(`id-${from + n}`, { offset: BigInt(from + n), text: `t${n}` }));
const idsOf = (rows: readonly { readonly chunkId: string }[]) => new Set(rows.map(({ chunkId }) => chunkId));

export function describeSinkScan(name: string, harness: ScanHarness): void {
  describe(`${name} is read from end to end`, () => {
    it('gives every row once as it was written, whatever the id, and nothing of other collections', async () => {
      const sink = await opened(harness);
      await (await opened(harness)).write([rowOf('stranger')]);
      const ids = ["it's", 'a"b\\c', 'nul\u0000', 'é', '\uffee', '\u{1f600}', '%_*?[a]', 'z'.repeat(512)];
      const rows = ids.map((id, n) => rowOf(id, { offset: BigInt(n), text: id, version: n, vector: vectorOf([n, 1]) }));
      await sink.write(rows);
      const found = await walk(sink, 3);
      const byId = (a: { chunkId: string }, b: { chunkId: string }) => (a.chunkId < b.chunkId ? -1 : 1);
      expect(found.sort(byId)).toEqual(rows.map((row) => ({ ...row, fingerprint: 'fp-one' })).sort(byId));
    });

    it('an empty collection is one empty page', async () => {
      const sink = await opened(harness);
      expect(await sink.scan?.(undefined, 10)).toEqual({ rows: [], next: undefined });
      await sink.write([rowOf('a')]);
      expect(idsOf(await walk(sink, 10))).toEqual(new Set(['a']));
    });

    it('pages are bounded, and together hold every row also where they are exactly full', async () => {
      const sink = await opened(harness);
      await sink.write(numbered(0, 400));
      let largest = 0;
      const found = await walk(sink, 100, async ({ rows }) => {
        largest = Math.max(largest, rows.length);
      });
      expect(idsOf(found).size).toBe(400);
      // Redis may give a few more than it is asked for.
      expect(largest).toBeLessThanOrEqual(200);
      expect(idsOf(await walk(sink, 400)).size).toBe(400);
    });

    it('goes on from a page of another walk, and rows that stay are found while others come and go', async () => {
      const collection = freshCollection();
      const sink = await opened(harness, collection);
      await sink.write(numbered(0, 300));
      const first = await sink.scan?.(undefined, 100);
      const reader = harness.durable ? await opened(harness, collection) : sink;
      let turn = 0;
      const rest = await walk(
        reader,
        50,
        async () => {
          turn += 1;
          if (turn !== 1) return;
          await sink.write(numbered(1_000, 1_100));
          await sink.remove([deletionOf('chunk', 'id-299', 10_000n)]);
        },
        first?.next,
      );
      const found = idsOf([...(first?.rows ?? []), ...rest]);
      for (let n = 0; n < 299; n++) expect(found).toContain(`id-${n}`);
    });
  });
}
