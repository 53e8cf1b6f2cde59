import { describe, expect, it } from 'vitest';
import { backoffMs, longestSpanMs } from '../../../src/resilience/backoff.ts';

const policy = { baseMs: 100, maxMs: 5_000 };

describe('backoffMs', () => {
  const cases = [
    { name: 'first attempt, least jitter', attempt: 1, random: 0, ms: 50 },
    { name: 'first attempt, most jitter', attempt: 1, random: 1, ms: 100 },
    { name: 'doubles', attempt: 4, random: 1, ms: 800 },
    { name: 'is capped', attempt: 12, random: 1, ms: 5_000 },
    { name: 'does not overflow after a night of attempts', attempt: 100_000, random: 1, ms: 5_000 },
  ];
  for (const { name, attempt, random, ms } of cases) {
    it(name, () => expect(backoffMs(attempt, policy, random)).toBe(ms));
  }
});

describe('longestSpanMs', () => {
  it('adds up the longest waits, capped like each of them', () => {
    expect([0, 1, 4, 8].map((retries) => longestSpanMs(retries, policy))).toEqual([0, 100, 1_500, 16_300]);
  });
});
