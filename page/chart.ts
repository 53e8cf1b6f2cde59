/**
 * A line over the last fifteen minutes as an SVG path. Pure: points in, path out.
 *
 * Where a value is not known, or points are missing, the line is broken: a line drawn across would show what nobody saw.
 */

export type Point = { readonly atMs: number; readonly value: number | null };

export type ChartBox = { readonly width: number; readonly height: number };

export type Window = { readonly fromMs: number; readonly toMs: number };

export const WINDOW_MS = 15 * 60_000;

/** Points come every five seconds; with three missing the line is broken. */
const GAP_MS = 20_000;

export function windowUntil(toMs: number): Window {
  return { fromMs: toMs - WINDOW_MS, toMs };
}

/** The top of the axis: 1, 2 or 5 times a power of ten, so that its half reads well too. At least 1. */
export function niceTop(values: readonly number[]): number {
  const most = Math.max(1, ...values);
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most) ?? 10 * power;
}

/** Runs of points without a gap, in the window, oldest first. */
export function runsOf(points: readonly Point[], { fromMs, toMs }: Window): { atMs: number; value: number }[][] {
  const runs: { atMs: number; value: number }[][] = [];
  let last: number | undefined;
  for (const { atMs, value } of points) {
    if (atMs < fromMs || atMs > toMs || value === null) {
      if (value === null) last = undefined;
      continue;
    }
    if (last === undefined || atMs - last > GAP_MS) runs.push([]);
    runs.at(-1)?.push({ atMs, value });
    last = atMs;
  }
  return runs;
}

export type ChartPaths = { readonly line: string; readonly area: string; readonly top: number };

export function pathsOf(points: readonly Point[], window: Window, { width, height }: ChartBox): ChartPaths {
  const runs = runsOf(points, window);
  const top = niceTop(runs.flat().map(({ value }) => value));
  const x = (atMs: number) => round(((atMs - window.fromMs) / (window.toMs - window.fromMs)) * width);
  const y = (value: number) => round(height - (value / top) * height);
  const lines = runs.map((run) => {
    const steps = run.map(({ atMs, value }) => `${x(atMs)} ${y(value)}`);
    // A point alone would be a line of no length, which nobody sees.
    if (steps.length === 1) steps.push(`${round(x(run[0]!.atMs) + 1)} ${y(run[0]!.value)}`);
    return { line: `M${steps.join('L')}`, fromX: x(run[0]!.atMs), toX: x(run.at(-1)!.atMs) };
  });
  return {
    line: lines.map(({ line }) => line).join(''),
    area: lines.map(({ line, fromX, toX }) => `${line}L${toX} ${height}L${fromX} ${height}Z`).join(''),
    top,
  };
}

/** The known point nearest to a place on the time axis, from 0 to 1. */
export function nearest(points: readonly Point[], window: Window, place: number): Point | undefined {
  const atMs = window.fromMs + place * (window.toMs - window.fromMs);
  let best: Point | undefined;
  for (const point of runsOf(points, window).flat()) {
    if (best === undefined || Math.abs(point.atMs - atMs) < Math.abs(best.atMs - atMs)) best = point;
  }
  return best;
}

export type Extent = { readonly now: number | null; readonly least: number; readonly most: number };

/** For those who do not see the line. Undefined when there is none. */
export function extentOf(points: readonly Point[], window: Window): Extent | undefined {
  const values = runsOf(points, window)
    .flat()
    .map(({ value }) => value);
  if (values.length === 0) return undefined;
  return { now: points.at(-1)?.value ?? null, least: Math.min(...values), most: Math.max(...values) };
}

export type Minute = { readonly atMs: number; readonly mean: number | null };

/** The mean of each minute of the window, oldest first; null where nothing is known of it. */
export function minutesOf(points: readonly Point[], window: Window): Minute[] {
  const minutes = Math.round((window.toMs - window.fromMs) / 60_000);
  const known = runsOf(points, window).flat();
  return Array.from({ length: minutes }, (_, index) => {
    const fromMs = window.fromMs + index * 60_000;
    const values = known.filter(({ atMs }) => atMs > fromMs && atMs <= fromMs + 60_000).map(({ value }) => value);
    const sum = values.reduce((total, value) => total + value, 0);
    return { atMs: fromMs + 60_000, mean: values.length === 0 ? null : sum / values.length };
  });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
