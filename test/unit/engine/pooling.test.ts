import { describe, expect, it } from 'vitest';
import { meanPoolNormalized, planMicroBatches } from '../../../src/engine/pooling.ts';

describe('meanPoolNormalized', () => {
  it('averages over the tokens of a row and nothing beyond its length (X03)', () => {
    const garbage = 1e6;
    const hidden = Float32Array.of(3, 0, 0, 4, garbage, garbage, /* row 2 */ 1, 1, 1, 1, 1, 1);
    const [a, b, c, d] = meanPoolNormalized(hidden, [2, 3], 2);
    expect([a, b]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
    expect(c).toBeCloseTo(Math.SQRT1_2, 6);
    expect(d).toBeCloseTo(Math.SQRT1_2, 6);
  });

  it('gives zeros, not NaN, for a row of zeros or of no tokens', () => {
    expect([...meanPoolNormalized(new Float32Array(4), [1], 4)]).toEqual([0, 0, 0, 0]);
    expect([...meanPoolNormalized(Float32Array.of(5, 5), [0], 2)]).toEqual([0, 0]);
  });
});

describe('planMicroBatches', () => {
  it('groups sequences of like length, shortest first, every one exactly once', () => {
    const lengths = Array.from({ length: 256 }, (_, i) => 3 + ((i * 97) % 510));
    const groups = planMicroBatches(lengths, { maxRows: 16, maxPaddedTokens: 2048 });
    expect(groups.flat().sort((a, b) => a - b)).toEqual(lengths.map((_, i) => i));
    for (const group of groups) {
      expect(group.length).toBeLessThanOrEqual(16);
      const longest = Math.max(...group.map((i) => lengths[i]!));
      expect(group.length * longest).toBeLessThanOrEqual(2048);
    }
  });

  it('takes a sequence that is longer than the limit by itself, and nothing from nothing', () => {
    expect(planMicroBatches([10, 900, 10], { maxRows: 16, maxPaddedTokens: 100 })).toEqual([[0, 2], [1]]);
    expect(planMicroBatches([], { maxRows: 16, maxPaddedTokens: 100 })).toEqual([]);
  });
});
