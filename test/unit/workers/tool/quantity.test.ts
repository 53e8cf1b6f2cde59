import { expect, it } from 'vitest';
import { formatCount, formatDuration, formatRanges, formatRate } from '../../../../workers/tool/quantity.ts';

const counts: [bigint | number, string][] = [
  [0, '0'],
  [999n, '999'],
  [1_000n, '1,000'],
  [12_345_678_901_234_567_890n, '12,345,678,901,234,567,890'],
];
for (const [count, text] of counts) it(`count ${text}`, () => expect(formatCount(count)).toBe(text));

const rates: [number, string][] = [
  [0, '0/s'],
  [0.001, '<0.01/s'],
  [0.25, '0.25/s'],
  [9.994, '9.99/s'],
  [9.996, '10/s'],
  [12.54, '12.5/s'],
  [99.94, '99.9/s'],
  [99.96, '100/s'],
  [1_240.4, '1,240/s'],
];
for (const [rate, text] of rates) it(`rate ${rate} is ${text}`, () => expect(formatRate(rate)).toBe(text));

const durations: [ms: number, string][] = [
  [0, '<1s'],
  [999, '<1s'],
  [1_000, '1s'],
  [59_001, '1m'],
  [61_000, '1m 1s'],
  [3_599_500, '1h'],
  [3_600_000, '1h'],
  [7_500_000, '2h 5m'],
  [86_399_000, '1d'],
  [350_000_000, '4d 2h'],
  [1e15, 'over 999d'],
];
for (const [ms, text] of durations) it(`${ms} ms is ${text}`, () => expect(formatDuration(ms)).toBe(text));

it('ranges, of numbers in any order', () => {
  expect(formatRanges([7, 1, 0, 2, 3, 3])).toBe('0-3, 7');
  expect(formatRanges([])).toBe('');
});
