/** How numbers and times read on the page. Pure; in English whatever the browser's language, as the rest of the page is. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** Offsets come as text: they may be larger than a number is exact. */
export function formatCount(value: number | string): string {
  return whole.format(typeof value === 'string' ? BigInt(value) : value);
}

export function formatRate(perSecond: number): string {
  return perSecond < 100 ? oneDigit.format(perSecond) : whole.format(perSecond);
}

/** For axes. */
export function formatShort(value: number): string {
  return value < 1_000 ? oneDigit.format(value) : short.format(value);
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${oneDigit.format(value)}\u00a0${UNITS[unit]}`;
}

export function formatShare(share: number): string {
  // No line break before the sign.
  return `${oneDigit.format(share * 100)}\u00a0%`;
}

/** The two largest units, none for what is over in a blink. */
export function formatDuration(seconds: number): string {
  const total = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(total / 86_400), 'd'],
    [Math.floor(total / 3_600) % 24, 'h'],
    [Math.floor(total / 60) % 60, 'min'],
    [total % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** By the clock of whoever looks. */
export function formatClock(at: string | number): string {
  return clock.format(new Date(at));
}

/** `in-flight limit`, `shared_memory` and `not_ready` as words. */
export function words(name: string): string {
  return name.replaceAll('_', ' ');
}
