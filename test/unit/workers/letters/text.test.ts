import { describe, expect, it } from 'vitest';
import { formatAge, parseMoment } from '../../../../workers/tool/moment.ts';
import { harmless, table } from '../../../../workers/tool/table.ts';

const NOW = Date.parse('2026-03-10T12:00:00Z');

describe('points in time', () => {
  it.each([
    ['45s', '2026-03-10T11:59:15Z'],
    ['2h', '2026-03-10T10:00:00Z'],
    ['7d', '2026-03-03T12:00:00Z'],
    ['2026-03-01', '2026-03-01T00:00:00Z'],
    ['2026-03-01T09:30', '2026-03-01T09:30:00Z'],
    ['2026-03-01T09:30:00.5+02:00', '2026-03-01T07:30:00.5Z'],
  ])('%s', (text, at) => expect(parseMoment(text, NOW)).toBe(Date.parse(at)));
  it.each(['', '2', 'h', '2 h', '-2h', '2y', 'yesterday', '2026-13-01', '2026-3-1', '1e3s'])('%j is none', (text) =>
    expect(parseMoment(text, NOW)).toBeUndefined(),
  );
  it.each([
    [0, '0s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [7_200_000, '2h'],
    [172_800_000, '2d'],
    [-5, '0s'],
  ])('an age of %d ms is %s', (ms, text) => expect(formatAge(ms)).toBe(text));
});

describe('text for a terminal', () => {
  it('no control sequence and no turn of direction of an id gets through', () => {
    expect(harmless('a\u001b[2Jb\u009b\r\n\u202ec')).toBe('a\\u001b[2Jb\\u009b\\u000d\\u000a\\u202ec');
  });
  it('columns are as wide as their widest cell, long cells are cut, nothing is a dash', () => {
    expect(
      table(
        ['A', 'BB'],
        [
          ['long', undefined],
          ['x'.repeat(60), 'y\tz'],
        ],
      ),
    ).toBe(`A${' '.repeat(47)}  BB\nlong${' '.repeat(44)}  -\n${'x'.repeat(47)}…  y\\u0009z\n`);
  });
});
