/** Points in time as a person gives them: `2h` ago, or ISO 8601, which without a zone is UTC. */
import { InvalidArgumentError } from 'commander';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export const MOMENT_FORMS = '45s, 30m, 2h, 7d or 2w ago, or ISO 8601 such as 2026-03-01 or 2026-03-01T09:30Z';

/** Milliseconds since the Unix epoch; undefined for what is no such thing. */
export function parseMoment(text: string, nowMs: number): number | undefined {
  const ago = /^(\d{1,9})([smhdw])$/.exec(text);
  if (ago !== null) return nowMs - Number(ago[1]) * (UNIT_MS[ago[2] ?? ''] ?? 0);
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(text)) return undefined;
  const zoned = !text.includes('T') || /(Z|[+-]\d{2}:\d{2})$/.test(text) ? text : `${text}Z`;
  const parsed = Date.parse(zoned);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** The parser of an option that takes one. */
export function momentOf(nowMs: () => number): (text: string) => number {
  return (text) => {
    const parsed = parseMoment(text, nowMs());
    if (parsed !== undefined) return parsed;
    throw new InvalidArgumentError(`Give a time: ${MOMENT_FORMS}.`);
  };
}

/** The parser of an option that takes a length of time, as `90m` or `3d`; milliseconds. */
export function duration(text: string): number {
  const found = /^(\d{1,9})([smhdw])$/.exec(text);
  const lengthMs = Number(found?.[1]) * (UNIT_MS[found?.[2] ?? ''] ?? 0);
  if (lengthMs > 0) return lengthMs;
  throw new InvalidArgumentError('Give a length of time: 45s, 90m, 12h, 3d or 2w.');
}

/** `3m`, `2h`, `5d`: one unit, rounded down. */
export function formatAge(ageMs: number): string {
  const age = Math.max(0, ageMs);
  for (const unit of ['d', 'h', 'm'] as const) {
    const unitMs = UNIT_MS[unit] ?? 1;
    if (age >= unitMs) return `${Math.floor(age / unitMs)}${unit}`;
  }
  return `${Math.floor(age / 1_000)}s`;
}
