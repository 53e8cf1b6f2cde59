import { describe, expect, it } from 'vitest';
import { fuse } from '../../../online/index.ts';

const rounded = (rankings: string[][]) => fuse(rankings).map(({ id, score }) => [id, Number(score.toFixed(6))]);

describe('fuse', () => {
  it('counts ranks from 1 and makes none up for absent documents (O09)', () => {
    expect(
      rounded([
        ['X', 'a', 'Y'],
        ['b', 'c', 'Y'],
      ]),
    ).toEqual([
      ['Y', 0.031746],
      ['X', 0.016393],
      ['b', 0.016393],
      ['a', 0.016129],
      ['c', 0.016129],
    ]);
  });

  it('nothing gives nothing (O01)', () => {
    expect(fuse([])).toEqual([]);
    expect(fuse([[]])).toEqual([]);
    expect(rounded([[], ['a']])).toEqual([['a', 0.016393]]);
  });

  it('an id twice in one ranking counts once, at its better place', () => {
    expect(rounded([['a', 'b', 'a']])).toEqual([
      ['a', 0.016393],
      ['b', 0.016129],
    ]);
  });

  it('ranks its results from 1', () => {
    expect(fuse([['a', 'b', 'c']]).map(({ rank }) => rank)).toEqual([1, 2, 3]);
  });

  it('takes another k and refuses one that makes no sense', () => {
    expect(fuse([['a']], { k: 0 })[0]?.score).toBe(1);
    for (const k of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => fuse([['a']], { k })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }));
    }
  });
});
