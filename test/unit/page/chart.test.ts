import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  extentOf,
  minutesOf,
  nearest,
  niceTop,
  type Point,
  pathsOf,
  runsOf,
  WINDOW_MS,
  windowUntil,
} from '../../../page/chart.ts';

const NOW = 1_900_000_000_000;
const window = windowUntil(NOW);
const box = { width: 900, height: 100 };
const at = (secondsAgo: number, value: number | null): Point => ({ atMs: NOW - secondsAgo * 1_000, value });

describe('a chart', () => {
  it('runs from the left edge, fifteen minutes ago, to the right edge, now', () => {
    const points = Array.from({ length: 181 }, (_, i) => at(900 - i * 5, 5));
    const { line, area, top } = pathsOf(points, window, box);
    expect(top).toBe(5);
    expect(line).toMatch(/^M0 0L5 0L10 0L.*L900 0$/);
    expect(area).toBe(`${line}L900 100L0 100Z`);
  });

  it('is broken where the value was not known, and where points are missing', () => {
    const points = [at(60, 1), at(55, 2), at(50, null), at(45, 3), at(10, 4)];
    expect(runsOf(points, window).map((run) => run.map(({ value }) => value))).toEqual([[1, 2], [3], [4]]);
  });

  it('shows a point that stands alone', () => {
    expect(pathsOf([at(0, 1)], window, box).line).toBe('M900 0L901 0');
  });

  it('leaves out what is older than the window, and what is said to be later than now', () => {
    expect(runsOf([at(901, 1), at(900, 2), at(-5, 3)], window).flat()).toEqual([at(900, 2)]);
  });

  it('of nothing is an empty path', () => {
    expect(pathsOf([], window, box)).toEqual({ line: '', area: '', top: 1 });
    expect(pathsOf([at(5, null)], window, box).line).toBe('');
    expect(extentOf([at(5, null)], window)).toBeUndefined();
    expect(nearest([], window, 0.5)).toBeUndefined();
  });

  it('never leaves its box, whatever the values', () => {
    const point = fc.record({
      atMs: fc.integer({ min: NOW - 2 * WINDOW_MS, max: NOW + 60_000 }),
      value: fc.option(fc.double({ min: 0, max: 1e12, noNaN: true })),
    });
    fc.assert(
      fc.property(fc.array(point), (points) => {
        points.sort((one, other) => one.atMs - other.atMs);
        const { line, top } = pathsOf(points, window, box);
        const numbers = Array.from(
          line.matchAll(/[ML]([^ ]+) ([^ML]+)/g),
          ([, x, y]) => [Number(x), Number(y)] as const,
        );
        expect(numbers.every(([x, y]) => x >= 0 && x <= box.width + 1 && y >= 0 && y <= box.height)).toBe(true);
        expect(
          runsOf(points, window)
            .flat()
            .every(({ value }) => value <= top),
        ).toBe(true);
      }),
    );
  });

  it.each([
    [[], 1],
    [[0.2], 1],
    [[1.01], 2],
    [[4.9, 3], 5],
    [[5.1], 10],
    [[40_000], 50_000],
    [[100_000], 100_000],
  ])('of %j has an axis up to %d', (values, top) => {
    expect(niceTop(values)).toBe(top);
  });

  it('says its value now, its least and its most to those who do not see it', () => {
    expect(extentOf([at(20, 9), at(15, 2), at(10, 4)], window)).toEqual({ now: 4, least: 2, most: 9 });
    expect(extentOf([at(20, 9), at(15, null)], window)).toEqual({ now: null, least: 9, most: 9 });
  });

  it('reads the known point that is nearest to the pointer', () => {
    const points = [at(900, 1), at(450, null), at(445, 2), at(0, 3)];
    expect([0, 0.49, 0.9].map((place) => nearest(points, window, place)?.value)).toEqual([1, 2, 3]);
  });

  it('as a table has the mean of each minute, and no number for a minute that nobody saw', () => {
    const minutes = minutesOf([at(100, 2), at(70, 4), at(30, 8), at(0, 10)], window);
    expect(minutes).toHaveLength(15);
    expect(minutes.slice(-3).map(({ mean }) => mean)).toEqual([null, 3, 9]);
    expect(minutes.at(-1)?.atMs).toBe(NOW);
  });
});
