import { describe, expect, it } from 'vitest';
import type { SourcePosition } from '../../../src/records/chunk.ts';
import { planRemoval, planWrite, type StoredKey } from '../../../src/sinks/plan.ts';
import { isNewerRevision, type Revision } from '../../../src/sinks/revision.ts';
import type { SinkRow } from '../../../src/sinks/sink.ts';

const at = (offset: bigint, partition = 0): SourcePosition => ({ topic: 't', partition, offset });

function row(chunkId: string, offset: bigint, version?: number, partition = 0): SinkRow {
  return {
    ...{ chunkId, documentId: 'd', tenantId: undefined, vector: new Uint8Array(2), textSha256: '', text: undefined },
    ...{ truncated: false, metadata: undefined, source: at(offset, partition), version, embeddedAtMs: 0 },
  };
}

const nothing = () => false;
const kinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map(({ kind }) => kind);

describe('planWrite', () => {
  it('stores what is new and leaves what is older than the stored row', () => {
    const stored = new Map<string, Revision>([['b', { version: undefined, source: at(9n) }]]);
    const plan = planWrite([row('a', 1n), row('b', 8n)], stored, nothing);
    expect(kinds(plan.outcomes)).toEqual(['stored', 'superseded']);
    expect(plan.winners.map((winner) => winner.chunkId)).toEqual(['a']);
    expect(plan.replaces).toBe(false);
  });

  it('replaces only when a winner is stored already', () => {
    const stored = new Map<string, Revision>([['a', { version: undefined, source: at(1n) }]]);
    expect(planWrite([row('a', 1n)], stored, nothing).replaces).toBe(true);
    expect(planWrite([row('b', 1n)], stored, nothing).replaces).toBe(false);
  });

  it('a double in one call is written once, as its newest revision (P12)', () => {
    const plan = planWrite([row('d', 1n), row('x', 2n), row('d', 3n), row('d', 2n)], new Map(), nothing);
    expect(kinds(plan.outcomes)).toEqual(['superseded', 'stored', 'stored', 'superseded']);
    expect(plan.winners.map((winner) => [winner.chunkId, winner.source.offset])).toEqual([
      ['d', 3n],
      ['x', 2n],
    ]);
  });

  it('ends as if the rows had been written one by one, for every order of four revisions', () => {
    const revisions = [row('d', 4n), row('d', 2n, 7), row('d', 3n, 5), row('d', 1n, undefined, 1)];
    for (const order of permutations(revisions)) {
      for (const before of [undefined, row('d', 3n, 6)]) {
        let current: Revision | undefined = before;
        for (const next of order) if (current === undefined || isNewerRevision(next, current)) current = next;
        const plan = planWrite(order, new Map(before && [['d', before]]), nothing);
        expect(plan.winners[0] ?? before).toBe(current);
        expect(plan.winners.length).toBeLessThanOrEqual(1);
        expect(plan.outcomes.filter(({ kind }) => kind === 'stored').length).toBe(plan.winners.length);
      }
    }
  });

  it('leaves out what a tombstone covers, whatever its version and whatever else is in the call', () => {
    const covered = row('d', 5n, 99);
    const plan = planWrite([covered, row('d', 3n, 1), row('e', 5n)], new Map(), (each) => each === covered);
    expect(kinds(plan.outcomes)).toEqual(['superseded', 'stored', 'stored']);
    expect(plan.winners.map((winner) => winner.source.offset)).toEqual([3n, 5n]);
  });
});

describe('planRemoval', () => {
  const key = (chunkId: string, documentId: string, offset: bigint, version?: number, partition = 0): StoredKey => {
    return { chunkId, documentId, version, source: at(offset, partition) };
  };
  const stored = [key('a', 'd1', 5n), key('b', 'd1', 15n), key('c', 'd2', 5n, 3)];

  it('takes what is older than the tombstone, by chunk and by document', () => {
    const plan = planRemoval(
      [
        { scope: 'document', id: 'd1', source: at(10n) },
        { scope: 'chunk', id: 'c', source: at(11n) },
      ],
      stored,
      nothing,
    );
    expect(plan).toMatchObject({ chunkIds: ['a', 'c'], outcomes: [{ kind: 'stored' }, { kind: 'stored' }] });
  });

  it('says superseded only when it found rows and may delete none', () => {
    const plan = planRemoval(
      [
        { scope: 'chunk', id: 'b', source: at(10n) },
        { scope: 'chunk', id: 'nobody', source: at(10n) },
      ],
      stored,
      nothing,
    );
    expect(plan).toMatchObject({ chunkIds: [], outcomes: [{ kind: 'superseded' }, { kind: 'stored' }] });
    expect(plan.marks.map(({ id }) => id)).toEqual(['b', 'nobody']);
  });

  it('takes rows of other partitions the first time, and leaves them when it comes again', () => {
    const mixed = [key('a', 'd', 5n), key('b', 'd', 2n, undefined, 1), key('c', 'd', 15n)];
    const deletion = { scope: 'document', id: 'd', source: at(10n) } as const;
    const first = planRemoval([deletion], mixed, nothing);
    expect(first.chunkIds).toEqual(['a', 'b']);
    expect(first.marks).toEqual([deletion, { scope: 'row', id: 'b', source: at(2n, 1) }]);
    expect(planRemoval([deletion], mixed, () => true)).toMatchObject({ chunkIds: ['a'], marks: [] });
    expect(planRemoval([deletion], mixed.slice(1), () => true).outcomes).toEqual([{ kind: 'superseded' }]);
  });
});

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.filter((_, other) => other !== index))) yield [item, ...rest];
  }
}
