import { describe, expect, it } from 'vitest';
import type { Deletion, SourcePosition } from '../../../src/records/chunk.ts';
import { checkTombstoneRetention, Tombstones } from '../../../src/sinks/tombstones.ts';

const DAY = 86_400_000;
const at = (offset: bigint, partition = 0, topic = 't'): SourcePosition => ({ topic, partition, offset });
const deletionOf = (scope: Deletion['scope'], id: string, source: SourcePosition): Deletion => ({ scope, id, source });
const rowAt = (source: SourcePosition, chunkId = 'c', documentId = 'd') => ({ chunkId, documentId, source });

function remembering(...deletions: readonly Deletion[]): Tombstones {
  const tombstones = new Tombstones(DAY);
  for (const deletion of deletions) tombstones.record({ ...deletion, deletedAtMs: 0 });
  return tombstones;
}

describe('what a tombstone covers', () => {
  const chunk = deletionOf('chunk', 'c', at(10n));
  const document = deletionOf('document', 'd', at(10n));
  const cases: {
    readonly name: string;
    readonly by: Deletion;
    readonly row: Parameters<Tombstones['covers']>[0];
    readonly covered: boolean;
  }[] = [
    { name: 'an older write of the chunk', by: chunk, row: rowAt(at(9n)), covered: true },
    { name: 'a newer write of the chunk', by: chunk, row: rowAt(at(11n)), covered: false },
    { name: 'an older write of another chunk', by: chunk, row: rowAt(at(9n), 'e'), covered: false },
    { name: 'an older chunk of the document', by: document, row: rowAt(at(9n), 'never-seen'), covered: true },
    { name: 'a newer chunk of the document', by: document, row: rowAt(at(11n), 'never-seen'), covered: false },
    { name: 'a document that is called like the chunk', by: chunk, row: rowAt(at(9n), 'e', 'c'), covered: false },
    { name: 'a chunk that is called like the document', by: document, row: rowAt(at(9n), 'd', 'e'), covered: false },
    { name: 'a write of another partition', by: chunk, row: rowAt(at(9n, 1)), covered: false },
    { name: 'a write of another topic', by: chunk, row: rowAt(at(9n, 0, 'u')), covered: false },
    {
      name: 'an older write just over 2^53',
      by: deletionOf('chunk', 'c', at(2n ** 53n + 1n)),
      row: rowAt(at(2n ** 53n)),
      covered: true,
    },
    {
      name: 'an id with slashes that reads like a place and an id',
      by: deletionOf('chunk', '0/t/c', at(10n)),
      row: rowAt(at(9n)),
      covered: false,
    },
  ];
  for (const { name, by, row, covered } of cases) {
    it(`${name}: ${covered ? 'stays out' : 'may pass'}`, () => {
      expect(remembering(by).covers(row, 0)).toBe(covered);
    });
  }

  it('a row that was taken: it and all before it in its partition, and it repeats no deletion', () => {
    const tombstones = new Tombstones(DAY);
    tombstones.record({ scope: 'row', id: 'c', source: at(10n), deletedAtMs: 0 });
    const covers = (source: SourcePosition, chunkId = 'c') => tombstones.covers(rowAt(source, chunkId), 0);
    expect([covers(at(10n)), covers(at(9n)), covers(at(11n))]).toEqual([true, true, false]);
    expect([covers(at(10n, 1)), covers(at(10n), 'e')]).toEqual([false, false]);
    expect(tombstones.repeats(deletionOf('chunk', 'c', at(10n)), 0)).toBe(false);
  });

  it('does not depend on the order in which deletions came', () => {
    for (const offsets of [
      [10n, 20n],
      [20n, 10n],
    ]) {
      const tombstones = remembering(...offsets.map((offset) => deletionOf('chunk', 'c', at(offset))));
      expect([tombstones.covers(rowAt(at(19n)), 0), tombstones.covers(rowAt(at(21n)), 0)]).toEqual([true, false]);
    }
  });

  it('a deletion of one partition leaves that of another in force', () => {
    const tombstones = remembering(deletionOf('chunk', 'c', at(10n)), deletionOf('chunk', 'c', at(3n, 1)));
    expect([tombstones.covers(rowAt(at(9n)), 0), tombstones.covers(rowAt(at(2n, 1)), 0)]).toEqual([true, true]);
  });
});

it('a deletion repeats one that is remembered, and all older ones of its partition', () => {
  const tombstones = remembering(deletionOf('chunk', 'c', at(10n)));
  const repeats = (source: SourcePosition) => tombstones.repeats(deletionOf('chunk', 'c', source), 0);
  expect([repeats(at(10n)), repeats(at(9n)), repeats(at(11n)), repeats(at(9n, 1))]).toEqual([true, true, false, false]);
});

describe('retention', () => {
  it('counts from the last deletion of the id', () => {
    const tombstones = remembering(deletionOf('chunk', 'c', at(10n)));
    tombstones.record({ ...deletionOf('chunk', 'c', at(12n)), deletedAtMs: DAY / 2 });
    expect([tombstones.covers(rowAt(at(9n)), DAY), tombstones.covers(rowAt(at(9n)), DAY * 1.5)]).toEqual([true, false]);
    expect(tombstones.repeats(deletionOf('chunk', 'c', at(12n)), DAY * 1.5)).toBe(false);
  });

  it('frees what is past its time and keeps the rest', () => {
    const tombstones = new Tombstones(DAY);
    for (let n = 0; n < 10; n++)
      tombstones.record({ ...deletionOf('chunk', `c${n}`, at(10n)), deletedAtMs: n < 4 ? 0 : DAY });
    tombstones.expire(DAY);
    expect(tombstones.size).toBe(6);
    expect(tombstones.covers(rowAt(at(9n), 'c9'), DAY)).toBe(true);
  });

  it('is a whole number of milliseconds above 0', () => {
    for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => checkTombstoneRetention(bad)).toThrow(/RAG_SERVING_TOMBSTONE_RETENTION_MS/);
    }
    expect(() => checkTombstoneRetention(1)).not.toThrow();
  });
});
