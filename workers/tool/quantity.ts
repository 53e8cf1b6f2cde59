/** Counts, rates and durations as a person reads them; pure. The same on every machine: no locale is asked. */

/** `1,234,567`. */
export function formatCount(count: bigint | number): string {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** `0/s`, `0.25/s`, `12.5/s`, `1,240/s`: three digits that mean something. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0/s';
  if (perSecond < 0.01) return '<0.01/s';
  if (perSecond >= 99.95) return `${formatCount(Math.round(perSecond))}/s`;
  return `${Number(perSecond.toFixed(perSecond < 9.995 ? 2 : 1))}/s`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;
const MOST_DAYS = 999;

/** `<1s`, `42s`, `3m 20s`, `2h 5m`, `4d 1h`: the two largest units, rounded up, as whoever waits wants it. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return '<1s';
  const seconds = Math.ceil(ms / 1_000);
  const first = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[first] ?? UNITS[3];
  const [smallUnit, smallSize] = UNITS[first + 1] ?? ['', 1];
  const inSmall = smallUnit === '' ? seconds : Math.ceil(seconds / smallSize) * smallSize;
  // Rounding up may have made the larger unit full: 59m 59.5s is 1h.
  const [larger, largerSize] = UNITS[first - 1] ?? ['', Number.POSITIVE_INFINITY];
  if (inSmall >= largerSize) return `${inSmall / largerSize}${larger}`;
  const whole = Math.floor(inSmall / size);
  if (unit === 'd' && whole > MOST_DAYS) return `over ${MOST_DAYS}d`;
  const rest = Math.round((inSmall - whole * size) / smallSize);
  return smallUnit === '' || rest === 0 ? `${whole}${unit}` : `${whole}${unit} ${rest}${smallUnit}`;
}

/** `0-3, 7`, of numbers in any order. */
export function formatRanges(numbers: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const one of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === one - 1) last[1] = one;
    else ranges.push([one, one]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}
