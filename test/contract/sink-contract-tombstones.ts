/** The promises about what a deletion leaves behind: part of sink-contract.ts, which see. */
import { expect, it } from 'vitest';
import type { Sink } from '../../src/sinks/sink.ts';
import { deletionOf, type RowChanges, rowOf, vectorOf } from './sink-rows.ts';

const STORED = { kind: 'stored' };
const SUPERSEDED = { kind: 'superseded' };

export type OpenSink = (options?: { readonly tombstoneRetentionMs?: number }) => Promise<Sink>;

/** `open` gives a sink on a fresh collection with FP16 vectors. */
export function itRemembersDeletions(open: OpenSink): void {
  const guarded: {
    readonly name: string;
    readonly before?: RowChanges;
    readonly deletedAt: bigint;
    readonly late: RowChanges;
    readonly stays: boolean;
  }[] = [
    { name: 'an older write stays out', before: { offset: 1n }, deletedAt: 10n, late: { offset: 9n }, stays: true },
    { name: 'an older write of a chunk never seen stays out', deletedAt: 10n, late: { offset: 9n }, stays: true },
    {
      name: 'the very write that was deleted stays out',
      before: { offset: 5n },
      deletedAt: 10n,
      late: { offset: 5n },
      stays: true,
    },
    { name: 'a newer write goes in', before: { offset: 1n }, deletedAt: 10n, late: { offset: 11n }, stays: false },
    {
      name: 'a larger version does not help an older write',
      before: { offset: 1n, version: 1 },
      deletedAt: 10n,
      late: { offset: 9n, version: 99 },
      stays: true,
    },
    {
      name: 'a smaller version does not hinder a newer write',
      before: { offset: 1n, version: 99 },
      deletedAt: 10n,
      late: { offset: 11n, version: 1 },
      stays: false,
    },
    {
      name: 'a write of another partition goes in: nobody knows its age',
      deletedAt: 10n,
      late: { offset: 9n, partition: 1 },
      stays: false,
    },
    { name: 'offsets just over 2^53, older', deletedAt: 2n ** 53n + 1n, late: { offset: 2n ** 53n }, stays: true },
    { name: 'offsets just over 2^53, newer', deletedAt: 2n ** 53n, late: { offset: 2n ** 53n + 1n }, stays: false },
    { name: 'the largest offsets', deletedAt: 2n ** 63n - 1n, late: { offset: 2n ** 63n - 2n }, stays: true },
    { name: 'offsets are not compared as text', deletedAt: 100n, late: { offset: 99n }, stays: true },
  ];
  for (const scope of ['chunk', 'document'] as const) {
    for (const { name, before, deletedAt, late, stays } of guarded) {
      it(`after a ${scope} was deleted: ${name}`, async () => {
        const sink = await open();
        if (before !== undefined) await sink.write([rowOf('a', { ...before, documentId: 'd' })]);
        expect(await sink.remove([deletionOf(scope, scope === 'chunk' ? 'a' : 'd', deletedAt)])).toEqual([STORED]);
        const neighbour = rowOf('b', { documentId: 'other', offset: 1n });
        const written = await sink.write([rowOf('a', { ...late, documentId: 'd', text: 'late' }), neighbour]);
        expect(written).toEqual([stays ? SUPERSEDED : STORED, STORED]);
        expect((await sink.fetch(['a', 'b'])).map((row) => row.chunkId)).toEqual(stays ? ['b'] : ['a', 'b']);
        expect(await sink.count()).toBe(stays ? 1 : 2);
        const query = Float32Array.from({ length: 8 }, () => 1);
        expect((await sink.search(query, 10)).length).toBe(stays ? 1 : 2);
      });
    }
  }

  it('a document stays deleted for all of its chunks, and only for its own', async () => {
    const sink = await open();
    await sink.write([rowOf('d#0', { documentId: 'd', offset: 1n })]);
    await sink.remove([deletionOf('document', 'd', 10n)]);
    const late = ['d#0', 'd#1', 'd#2'].map((id, n) => rowOf(id, { documentId: 'd', offset: BigInt(n) }));
    expect(await sink.write([...late, rowOf('e#0', { documentId: 'e', offset: 3n })])).toEqual([
      ...[SUPERSEDED, SUPERSEDED, SUPERSEDED],
      STORED,
    ]);
    // A newer chunk of it does not let the older ones of the others in.
    await sink.write([rowOf('d#1', { documentId: 'd', offset: 11n })]);
    expect(await sink.write([rowOf('d#2', { documentId: 'd', offset: 9n })])).toEqual([SUPERSEDED]);
    expect((await sink.fetch(['d#0', 'd#1', 'd#2', 'e#0'])).map((row) => row.chunkId)).toEqual(['d#1', 'e#0']);
  });

  it('a newer write does not open the door to those before the deletion, whatever their version or partition', async () => {
    const sink = await open();
    await sink.write([rowOf('a', { offset: 5n, version: 9 })]);
    await sink.remove([deletionOf('chunk', 'a', 10n)]);
    await sink.write([rowOf('a', { offset: 12n, version: 1, text: 'new' })]);
    expect(await sink.write([rowOf('a', { offset: 5n, version: 9 })])).toEqual([SUPERSEDED]);
    await sink.write([rowOf('a', { offset: 1n, partition: 4, text: 'moved' })]);
    expect(await sink.write([rowOf('a', { offset: 9n })])).toEqual([SUPERSEDED]);
    expect((await sink.fetch(['a']))[0]?.text).toBe('moved');
  });

  it('the same deletion again changes nothing, and leaves what was written after it, in any partition', async () => {
    for (const scope of ['chunk', 'document'] as const) {
      const sink = await open();
      const id = scope === 'chunk' ? 'a' : 'doc';
      await sink.write([rowOf('a', { offset: 1n })]);
      expect(await sink.remove([deletionOf(scope, id, 10n)])).toEqual([STORED]);
      expect(await sink.remove([deletionOf(scope, id, 10n)])).toEqual([STORED]);
      expect(await sink.count()).toBe(0);
      for (const after of [{ offset: 11n }, { offset: 2n, partition: 3 }]) {
        await sink.write([rowOf('a', after)]);
        expect(await sink.remove([deletionOf(scope, id, 10n)])).toEqual([SUPERSEDED]);
        expect(await sink.remove([deletionOf(scope, id, 9n)])).toEqual([SUPERSEDED]);
        expect(await sink.count()).toBe(1);
      }
      expect(await sink.remove([deletionOf(scope, id, 12n)])).toEqual([STORED]);
      expect(await sink.count()).toBe(0);
    }
  });

  it('a row that a deletion of another partition took does not come back, nor what was before it', async () => {
    for (const scope of ['chunk', 'document'] as const) {
      const sink = await open();
      const id = scope === 'chunk' ? 'a' : 'doc';
      const taken = rowOf('a', { offset: 10n, partition: 2 });
      await sink.write([taken]);
      expect(await sink.remove([deletionOf(scope, id, 3n, 5)])).toEqual([STORED]);
      expect(await sink.write([taken, rowOf('a', { offset: 8n, partition: 2, version: 4 })])).toEqual([
        SUPERSEDED,
        SUPERSEDED,
      ]);
      expect(await sink.write([rowOf('a', { offset: 11n, partition: 2 })])).toEqual([STORED]);
      expect(await sink.write([taken])).toEqual([SUPERSEDED]);
      expect(await sink.remove([deletionOf(scope, id, 3n, 5)])).toEqual([SUPERSEDED]);
      expect(await sink.count()).toBe(1);
      // It is no deletion of that partition: one that comes there is the first, and takes rows of all partitions.
      await sink.write([rowOf('a', { offset: 1n, partition: 7 })]);
      expect(await sink.remove([deletionOf(scope, id, 10n, 2)])).toEqual([STORED]);
      expect(await sink.count()).toBe(0);
    }
  });

  it('deletions of one id in two partitions are both remembered, in either order', async () => {
    for (const order of [
      [10n, 20n],
      [20n, 10n],
    ] as const) {
      const sink = await open();
      await sink.remove([deletionOf('chunk', 'a', order[0]), deletionOf('chunk', 'a', order[1])]);
      await sink.remove([deletionOf('chunk', 'a', 3n, 1)]);
      expect(await sink.write([rowOf('a', { offset: 19n })])).toEqual([SUPERSEDED]);
      expect(await sink.write([rowOf('a', { offset: 2n, partition: 1 })])).toEqual([SUPERSEDED]);
      expect(await sink.count()).toBe(0);
    }
  });

  it('a deletion and an older write in two calls at once end deleted, whichever comes first', async () => {
    const sink = await open();
    const ids = Array.from({ length: 20 }, (_, n) => `c${n}`);
    const deleteAll = (offset: bigint) => sink.remove(ids.map((id) => deletionOf('chunk', id, offset)));
    const writeAll = (offset: bigint) => sink.write(ids.map((id) => rowOf(id, { offset, documentId: 'd' })));
    const deleteDocument = (offset: bigint) => sink.remove([deletionOf('document', 'd', offset)]);
    await Promise.all([writeAll(10n), deleteAll(11n)]);
    expect(await sink.count()).toBe(0);
    await Promise.all([deleteAll(21n), writeAll(20n)]);
    expect(await sink.count()).toBe(0);
    await Promise.all([writeAll(30n), deleteDocument(31n), writeAll(29n)]);
    expect(await sink.count()).toBe(0);
    await Promise.all([deleteAll(40n), writeAll(41n)]);
    await Promise.all([writeAll(51n), deleteAll(50n)]);
    expect(await sink.count()).toBe(20);
  });

  it('ids of any well-formed text are told apart', async () => {
    const sink = await open();
    const ids = [
      'chunk:a',
      'doc:a',
      'a',
      ':',
      "it's",
      '"; DEL x',
      'a\u0000b',
      'line\nbreak',
      '日本語🎉',
      '0/t/a',
      '__proto__',
      '*',
    ];
    const deleted = ids.filter((_, index) => index % 2 === 0);
    await sink.remove(deleted.map((id) => deletionOf('chunk', id, 10n)));
    await sink.remove(deleted.map((id) => deletionOf('document', id, 10n)));
    const late = ids.map((id) => rowOf(id, { documentId: 'd', offset: 9n, vector: vectorOf([1]) }));
    const lateOfDocument = ids.map((id, n) => rowOf(`of-${n}`, { documentId: id, offset: 9n }));
    const expected = ids.map((id) => (deleted.includes(id) ? SUPERSEDED : STORED));
    expect(await sink.write(late)).toEqual(expected);
    expect(await sink.write(lateOfDocument)).toEqual(expected);
    expect(await sink.count()).toBe(2 * (ids.length - deleted.length));
  });

  it('is remembered for its time, and no longer', async () => {
    const sink = await open({ tombstoneRetentionMs: 300 });
    await sink.write([rowOf('a', { offset: 1n })]);
    await sink.remove([deletionOf('chunk', 'a', 10n), deletionOf('document', 'd', 10n)]);
    const late = [rowOf('a', { offset: 9n }), rowOf('b', { offset: 9n, documentId: 'd' })];
    await expect.poll(() => sink.write(late), { timeout: 10_000 }).toEqual([STORED, STORED]);
  });
}

/** `reopen` gives a sink on the same collection, after the one before was closed. */
export function itRemembersDeletionsOverAClose(reopen: (before: Sink | undefined) => Promise<Sink>): void {
  it('and what was deleted, for chunks and for documents', async () => {
    const first = await reopen(undefined);
    await first.write([rowOf('a', { offset: 1n }), rowOf('e', { offset: 2n ** 60n, partition: 8 })]);
    await first.remove([
      deletionOf('chunk', 'a', 2n ** 62n + 1n),
      deletionOf('document', 'd:1\n', 10n, 3),
      deletionOf('chunk', 'e', 1n),
    ]);
    const second = await reopen(first);
    const late = [
      rowOf('a', { offset: 2n ** 62n }),
      rowOf('b', { documentId: 'd:1\n', offset: 9n, partition: 3 }),
      rowOf('e', { offset: 2n ** 60n, partition: 8 }),
      rowOf('c', { documentId: 'd:1\n', offset: 11n, partition: 3 }),
    ];
    expect(await second.write(late)).toEqual([SUPERSEDED, SUPERSEDED, SUPERSEDED, STORED]);
    expect(await second.remove([deletionOf('document', 'd:1\n', 10n, 3)])).toEqual([SUPERSEDED]);
    const third = await reopen(second);
    expect(await third.write(late.slice(0, 3))).toEqual([SUPERSEDED, SUPERSEDED, SUPERSEDED]);
    expect(await third.count()).toBe(1);
  });
}
