import { describe, expect, it } from 'vitest';
import { Membership } from '../../../src/resilience/membership.ts';
import { nextTurn } from '../../../src/resilience/rotation.ts';
import { defaultSlowStart, slowStartShare } from '../../../src/resilience/slow-start.ts';

type Named = { readonly name: string; credit: number; share: number };
const named = (shares: Readonly<Record<string, number>>): Named[] =>
  Object.entries(shares).map(([name, share]) => ({ name, share, credit: 0 }));
const turns = (contenders: readonly Named[], count: number) =>
  Array.from({ length: count }, () => nextTurn(contenders)?.name).join('');

describe('turns', () => {
  it('equal shares go round', () => {
    expect(turns(named({ a: 1, b: 1, c: 1 }), 7)).toBe('abcabca');
  });

  it('unequal shares are kept, and spread rather than in runs', () => {
    expect(turns(named({ a: 1, b: 0.5 }), 9)).toBe('abaabaaba');
    const sequence = turns(named({ a: 1, b: 0.1 }), 1_100);
    expect(sequence.split('b')).toHaveLength(101);
    expect(sequence).not.toMatch(/b.{0,8}b/);
  });

  it('one that leaves and comes back is owed nothing for the time between', () => {
    const [a, b] = named({ a: 1, b: 1 }) as [Named, Named];
    turns([a, b], 3);
    turns([a], 50);
    expect(turns([a, b], 4)).toMatch(/^(ab|ba){2}$/);
  });

  it('nobody is nobody', () => expect(nextTurn([])).toBeUndefined());
});

describe('slow start', () => {
  it.each([
    [0, 0.1],
    [500, 0.1],
    [1_000, 0.1],
    [5_000, 0.5],
    [9_999, 0.9999],
    [10_000, 1],
    [1e9, 1],
  ])('after %d ms the share is %d', (elapsedMs, share) => {
    expect(slowStartShare(elapsedMs, defaultSlowStart)).toBe(share);
  });

  it('without a window the share is whole at once', () => {
    expect(slowStartShare(0, { windowMs: 0, leastShare: 0.1 })).toBe(1);
  });
});

describe('members of a name', () => {
  const answers = (...each: readonly (readonly string[])[]) => {
    const membership = new Membership();
    return each.map((found) => membership.answer(found));
  };
  const nothing = { joined: [], left: [] };

  it('join with the first answer that has them, and once', () => {
    expect(answers(['a', 'b', 'a'], ['b', 'a', 'c'])).toEqual([
      { joined: ['a', 'b'], left: [] },
      { joined: ['c'], left: [] },
    ]);
  });

  it('leave with the second answer in a row that has them no more', () => {
    expect(answers(['a', 'b'], ['b'], ['b'], ['b'])).toEqual([
      { joined: ['a', 'b'], left: [] },
      nothing,
      { joined: [], left: ['a'] },
      nothing,
    ]);
  });

  it('stay when they were missing once', () => {
    expect(answers(['a', 'b'], ['b'], ['a', 'b'], ['b']).slice(1)).toEqual([nothing, nothing, nothing]);
  });

  it('an answer without any address changes nothing, and does not count', () => {
    expect(answers(['a'], [], [], ['b'], [], ['b']).slice(1)).toEqual([
      nothing,
      nothing,
      { joined: ['b'], left: [] },
      nothing,
      { joined: [], left: ['a'] },
    ]);
  });

  it('one that left joins anew', () => {
    expect(answers(['a', 'b'], ['b'], ['b'], ['a', 'b'])[3]).toEqual({ joined: ['a'], left: [] });
  });
});
