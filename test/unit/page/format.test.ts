import { describe, expect, it } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatRate,
  formatShare,
  formatShort,
  words,
} from '../../../page/format.ts';

describe('what is read on the page', () => {
  it('an offset that no number is exact for keeps all its digits', () => {
    expect(formatCount('9007199254740993')).toBe('9,007,199,254,740,993');
  });

  it.each([
    [formatCount(0), '0'],
    [formatCount(1_234_567), '1,234,567'],
    [formatRate(0.5), '0.5'],
    [formatRate(1_534.2), '1,534'],
    [formatShort(2.5), '2.5'],
    [formatShort(50_000), '50K'],
    [formatBytes(0), '0\u00a0B'],
    [formatBytes(1_023), '1,023\u00a0B'],
    [formatBytes(1_536), '1.5\u00a0KiB'],
    [formatBytes(22.5 * 2 ** 30), '22.5\u00a0GiB'],
    [formatBytes(2 ** 54), '16,384\u00a0TiB'],
    [formatShare(0.853), '85.3\u00a0%'],
    [formatShare(1.2), '120\u00a0%'],
    [words('not_ready'), 'not ready'],
  ])('%s', (text, expected) => {
    expect(text).toBe(expected);
  });

  it.each([
    [-3, '0 s'],
    [0.4, '0 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [3_605, '1 h'],
    [3_720, '1 h 2 min'],
    [90_000, '1 d 1 h'],
  ])('%d seconds are %s', (seconds, expected) => {
    expect(formatDuration(seconds)).toBe(expected);
  });
});
