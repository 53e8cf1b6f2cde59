import { describe, expect, it } from 'vitest';
import { fuse } from '../../../online/index.ts';
import { byScore, inIncomingOrder } from '../../../online/rrf.ts';

const candidates = Array.from({ length: 1_000 }, (_, index) => ({ id: `c${index}`, text: 'x' }));

describe('inIncomingOrder', () => {
  it('scores the rank from 1, as fusing the one ranking would (O09)', () => {
    const results = inIncomingOrder(candidates, 1_000);
    expect(results.map(({ id, score, rank }) => ({ id, score, rank }))).toEqual(fuse([candidates.map(({ id }) => id)]));
    expect(results[0]!.score).toBe(1 / 61);
    expect(results.map(({ index }) => index)).toEqual(candidates.map((_, index) => index));
  });

  it('gives as many as asked for, and no holes', () => {
    expect(inIncomingOrder(candidates, 0)).toEqual([]);
    expect(inIncomingOrder([], 10)).toEqual([]);
    expect(inIncomingOrder(candidates.slice(0, 2), 10)).toHaveLength(2);
  });

  it('an id twice stays twice: they are told apart by their place', () => {
    const twice = [
      { id: 'a', text: 'x' },
      { id: 'a', text: 'y' },
    ];
    expect(inIncomingOrder(twice, 2).map(({ id, index }) => [id, index])).toEqual([
      ['a', 0],
      ['a', 1],
    ]);
  });
});

describe('byScore', () => {
  it('best first; equal scores keep the order given; negative ones come last', () => {
    const results = byScore(candidates.slice(0, 5), Float32Array.of(0, 2, -1, 2, 0), 4);
    expect(results.map(({ index }) => index)).toEqual([1, 3, 0, 4]);
    expect(results.map(({ rank }) => rank)).toEqual([1, 2, 3, 4]);
    expect(results.map(({ score }) => score)).toEqual([2, 2, 0, 0]);
  });
});
