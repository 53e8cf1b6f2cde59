/**
 * The least memory that was in use over the last minutes: what stays when no request runs, where models do not say what
 * they hold. Time is an argument.
 *
 * A window, not "since the start": frameworks take memory at their first requests, so the least since the start would be
 * too little for ever. Under load without a pause it counts what requests use too, which errs to the safe side.
 */
const WINDOW_MS = 600_000;
/** A shorter look says nothing about what stays. */
const SHORTEST_MS = 120_000;
/** At intervals of a second the window is thinned out rather than long. */
const MOST = 200;

export class FloorWindow {
  readonly #readings = new Map<string, { atMs: number; used: number }[]>();

  add(gpu: string, used: number, nowMs: number): void {
    const kept = (this.#readings.get(gpu) ?? []).filter(({ atMs }) => atMs > nowMs - WINDOW_MS);
    const last = kept.at(-1);
    // Within one step only the smaller counts.
    if (last !== undefined && nowMs - last.atMs < WINDOW_MS / MOST) last.used = Math.min(last.used, used);
    else kept.push({ atMs: nowMs, used });
    this.#readings.set(gpu, kept);
  }

  /** Undefined until it was looked at for long enough. */
  of(gpu: string, nowMs: number): number | undefined {
    const readings = this.#readings.get(gpu);
    const first = readings?.[0];
    if (readings === undefined || first === undefined || nowMs - first.atMs < SHORTEST_MS) return undefined;
    return Math.min(...readings.map(({ used }) => used));
  }

  /** After the models have gone nothing of what was seen holds. */
  clear(): void {
    this.#readings.clear();
  }
}
