import { describe, expect, it } from 'vitest';
import { encodeFp16 } from '../../../src/kserve/fp16.ts';
import { checkQuery, cosine, decodeVector, Nearest } from '../../../src/sinks/similarity.ts';

const floats = (...values: number[]) => Float32Array.from(values);

describe('exact search', () => {
  it('decodes both element types, also from an odd address', () => {
    const values = floats(1, -2, 0.5);
    for (const [bytes, dtype] of [
      [encodeFp16(values), 'FP16'],
      [new Uint8Array(values.buffer), 'FP32'],
    ] as const) {
      const shifted = new Uint8Array(bytes.length + 1);
      shifted.set(bytes, 1);
      expect(decodeVector(shifted.subarray(1), dtype)).toEqual(values);
    }
  });

  it('cosine looks at directions only, and a vector without one scores 0', () => {
    expect(cosine(floats(2, 0), floats(5, 0))).toBe(1);
    expect(cosine(floats(1, 0), floats(-3, 0))).toBe(-1);
    expect(cosine(floats(1, 0), floats(0, 4))).toBe(0);
    expect(cosine(floats(0, 0), floats(1, 1))).toBe(0);
  });

  it('keeps the best, best first, whatever the order', () => {
    for (const order of [
      [1, 2, 3, 4, 5],
      [5, 4, 3, 2, 1],
      [3, 5, 1, 4, 2],
    ]) {
      const nearest = new Nearest<number>(3);
      for (const score of order) nearest.offer(score, score);
      expect(nearest.best().map(({ item }) => item)).toEqual([5, 4, 3]);
    }
  });

  it('keeps equal scores in the order they came, and gives fewer when there are fewer', () => {
    const nearest = new Nearest<string>(5);
    for (const item of ['a', 'b', 'c']) nearest.offer(1, item);
    expect(nearest.best().map(({ item }) => item)).toEqual(['a', 'b', 'c']);
  });

  it('refuses a query of other dims and a limit that is no count', () => {
    expect(() => checkQuery(floats(1, 2), 5, { dims: 3 })).toThrow(/2 dims.*3/);
    for (const limit of [0, -1, 1.5, Number.NaN])
      expect(() => checkQuery(floats(1), limit, { dims: 1 })).toThrow(/limit/);
  });
});
