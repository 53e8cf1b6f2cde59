/** The promises about revisions, doubles and deletions: part of sink-contract.ts, which see. */
import { expect, it } from 'vitest';
import { isNewerRevision } from '../../src/sinks/revision.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { deletionOf, type RowChanges, rowOf, vectorOf } from './sink-rows.ts';

const revisions: { readonly name: string; readonly stored: RowChanges; readonly incoming: RowChanges }[] = [
  { name: 'a larger offset wins', stored: { offset: 9n }, incoming: { offset: 10n } },
  { name: 'a smaller offset loses', stored: { offset: 10n }, incoming: { offset: 9n } },
  { name: 'offsets are not compared as text', stored: { offset: 99n }, incoming: { offset: 100n } },
  { name: 'offsets just over 2^53 (P07)', stored: { offset: 2n ** 53n }, incoming: { offset: 2n ** 53n + 1n } },
  {
    name: 'offsets just over 2^53, older (P07)',
    stored: { offset: 2n ** 53n + 1n },
    incoming: { offset: 2n ** 53n },
  },
  { name: 'the largest offset', stored: { offset: 2n ** 63n - 2n }, incoming: { offset: 2n ** 63n - 1n } },
  {
    name: 'the later arrival of another partition wins',
    stored: { offset: 50n },
    incoming: { offset: 1n, partition: 1 },
  },
  {
    name: 'a larger version wins over a larger offset',
    stored: { version: 9, offset: 7n },
    incoming: { version: 10, offset: 1n },
  },
  { name: 'a smaller version loses', stored: { version: 10, offset: 1n }, incoming: { version: 9, offset: 7n } },
  {
    name: 'a smaller version of another partition loses',
    stored: { version: 2 },
    incoming: { version: 1, partition: 4 },
  },
  { name: 'equal versions go by offset', stored: { version: 2, offset: 8n }, incoming: { version: 2, offset: 7n } },
  { name: 'a version on one side only says nothing', stored: { version: 5, offset: 3n }, incoming: { offset: 4n } },
  {
    name: 'a version on the older one only says nothing',
    stored: { offset: 4n },
    incoming: { version: 5, offset: 3n },
  },
  { name: 'version 0 is a version', stored: { version: 1, offset: 1n }, incoming: { version: 0, offset: 2n } },
  { name: 'the largest version', stored: { version: 2 ** 53 - 2 }, incoming: { version: 2 ** 53 - 1 } },
];

/** `open` gives a sink on a fresh collection with FP16 vectors. */
export function itKeepsTheNewestRevision(open: () => Promise<Sink>): void {
  for (const { name: rule, stored, incoming } of revisions) {
    it(`revisions: ${rule}`, async () => {
      const sink = await open();
      const first = rowOf('a', { ...stored, text: 'first' });
      const second = rowOf('a', { ...incoming, text: 'second' });
      const wins = isNewerRevision(second, first);
      await sink.write([first]);
      expect(await sink.write([second])).toEqual([{ kind: wins ? 'stored' : 'superseded' }]);
      expect((await sink.fetch(['a']))[0]?.text).toBe(wins ? 'second' : 'first');
      expect(await sink.count()).toBe(1);
    });
  }

  it('the same id twice in one call leaves the newest row, and its neighbours (P12)', async () => {
    const sink = await open();
    const rows = [
      rowOf('d', { offset: 1n, vector: vectorOf([1]) }),
      ...['x', 'y', 'z'].map((id, index) => rowOf(id, { offset: BigInt(2 + index) })),
      rowOf('d', { offset: 5n, vector: vectorOf([0, 1]) }),
    ];
    const stored = { kind: 'stored' };
    expect(await sink.write(rows)).toEqual([{ kind: 'superseded' }, stored, stored, stored, stored]);
    expect((await sink.fetch(['d']))[0]?.vector).toEqual(vectorOf([0, 1]));
    expect(await sink.count()).toBe(4);
    const backwards = [rowOf('d', { offset: 9n, text: 'new' }), rowOf('d', { offset: 8n, text: 'old' })];
    expect(await sink.write(backwards)).toEqual([stored, { kind: 'superseded' }]);
    expect((await sink.fetch(['d']))[0]?.text).toBe('new');
  });

  it('deletes a chunk, and says the same when it is not there', async () => {
    const sink = await open();
    await sink.write([rowOf('a', { offset: 1n }), rowOf('b', { offset: 2n })]);
    expect(await sink.remove([deletionOf('chunk', 'a', 3n), deletionOf('chunk', 'nobody', 4n)])).toEqual([
      { kind: 'stored' },
      { kind: 'stored' },
    ]);
    expect(await sink.count()).toBe(1);
    expect(await sink.fetch(['a'])).toEqual([]);
    expect(await sink.write([rowOf('a', { offset: 5n })])).toEqual([{ kind: 'stored' }]);
    expect(await sink.count()).toBe(2);
  });

  it('deletes all chunks of a document and no other', async () => {
    const sink = await open();
    const rows = ['d1', 'd2'].flatMap((documentId) =>
      [0, 1, 2].map((n) => rowOf(`${documentId}#${n}`, { documentId, offset: 1n })),
    );
    await sink.write([...rows, rowOf('moved', { documentId: 'd1', offset: 2n })]);
    await sink.write([rowOf('moved', { documentId: 'd2', offset: 3n })]);
    expect(await sink.remove([deletionOf('document', 'd1', 4n)])).toEqual([{ kind: 'stored' }]);
    expect((await sink.fetch([...rows.map((row) => row.chunkId), 'moved'])).map((row) => row.chunkId)).toEqual([
      'd2#0',
      'd2#1',
      'd2#2',
      'moved',
    ]);
    expect(await sink.count()).toBe(4);
  });

  it('an old tombstone read again leaves what was written after it', async () => {
    const sink = await open();
    await sink.write([rowOf('a', { documentId: 'd', offset: 11n }), rowOf('b', { documentId: 'd', offset: 3n })]);
    expect(await sink.remove([deletionOf('chunk', 'a', 10n)])).toEqual([{ kind: 'superseded' }]);
    expect(await sink.remove([deletionOf('document', 'd', 10n)])).toEqual([{ kind: 'stored' }]);
    expect((await sink.fetch(['a', 'b'])).map((row) => row.chunkId)).toEqual(['a']);
    expect(await sink.remove([deletionOf('document', 'd', 10n)])).toEqual([{ kind: 'superseded' }]);
  });

  it('answers concurrent calls about the same ids as if they came one after the other', async () => {
    const sink = await open();
    const calls = Array.from({ length: 12 }, (_, call) =>
      sink.write(
        Array.from({ length: 50 }, (_, n) => rowOf(`c${n}`, { offset: BigInt(call * 100 + n), text: `${call}` })),
      ),
    );
    await Promise.all(calls);
    expect(await sink.count()).toBe(50);
    expect(new Set((await sink.fetch(Array.from({ length: 50 }, (_, n) => `c${n}`))).map((row) => row.text))).toEqual(
      new Set(['11']),
    );
  });
}

/** Of a log, where only the reader judges. All in one collection: to read it takes seconds. */
export function itIsReadAsTheNewestRevision(open: () => Promise<Sink>): void {
  it('is read as the newest revision of each chunk, without what was deleted', async () => {
    const sink = await open();
    const pairs = revisions.map(({ stored, incoming }, n) => {
      const first = rowOf(`r${n}`, { ...stored, text: 'first' });
      return { first, second: rowOf(`r${n}`, { ...incoming, text: 'second' }) };
    });
    await sink.write(pairs.map(({ first }) => first));
    await sink.write(pairs.map(({ second }) => second));
    const d = [0, 1, 2].map((n) => rowOf(`d#${n}`, { documentId: 'd', offset: BigInt(2 * n) }));
    await sink.write([...d, rowOf('gone', { offset: 1n }), rowOf('back', { offset: 1n })]);
    await sink.remove([
      deletionOf('document', 'd', 3n),
      deletionOf('chunk', 'gone', 5n),
      deletionOf('chunk', 'back', 5n),
    ]);
    await sink.write([rowOf('gone', { offset: 4n }), rowOf('back', { offset: 6n })]);
    const ids = ['d#0', 'd#1', 'd#2', 'gone', 'back', ...pairs.map(({ first }) => first.chunkId)];
    const found = new Map((await sink.fetch(ids)).map((row) => [row.chunkId, row.text]));
    expect(found).toEqual(
      new Map([
        ['d#2', undefined],
        ['back', undefined],
        ...pairs.map(
          ({ first, second }) => [first.chunkId, isNewerRevision(second, first) ? 'second' : 'first'] as const,
        ),
      ]),
    );
  });
}
