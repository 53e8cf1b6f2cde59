/**
 * How fast a group gets on, from looks at its offsets; pure, time is an argument.
 *
 * Only partitions that are in both looks count. Offsets that went back (somebody has moved the group, or the topic was made
 * anew) are no speed: the window begins again there.
 */
import type { Position } from '../offsets/positions.ts';

export type Flow = {
  readonly committedPerSecond: number;
  readonly arrivedPerSecond: number;
  readonly overMs: number;
};

export type Eta =
  /** Nothing is left. */
  | { readonly kind: 'caught-up' }
  | { readonly kind: 'in'; readonly ms: number }
  /** At this rate the lag does not shrink. */
  | { readonly kind: 'never' }
  | { readonly kind: 'unknown' };

type Offsets = Pick<Position, 'partition' | 'low' | 'end' | 'committed'>;
type Look = { readonly atMs: number; readonly offsets: ReadonlyMap<number, Offsets> };

export class FlowWindow {
  readonly #windowMs: number;
  #looks: Look[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  add(positions: readonly Offsets[], atMs: number): void {
    const look = { atMs, offsets: new Map(positions.map((one) => [one.partition, one])) };
    const last = this.#looks.at(-1);
    if (last !== undefined && wentBack(last, look)) this.#looks = [];
    this.#looks.push(look);
    // The oldest one that is kept is older than the window, or it would be shorter than asked for.
    while (this.#looks.length > 2 && (this.#looks[1]?.atMs ?? atMs) <= atMs - this.#windowMs) this.#looks.shift();
  }

  /** Undefined before the second look. */
  get flow(): Flow | undefined {
    const [first] = this.#looks;
    const last = this.#looks.at(-1);
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return undefined;
    let committed = 0n;
    let arrived = 0n;
    for (const [partition, now] of last.offsets) {
      const before = first.offsets.get(partition);
      if (before === undefined) continue;
      arrived += now.end - before.end;
      if (now.committed !== undefined) committed += now.committed - startOf(before, now.committed);
    }
    const overMs = last.atMs - first.atMs;
    const perSecond = (records: bigint) => (Number(records) * 1_000) / overMs;
    return { committedPerSecond: perSecond(committed), arrivedPerSecond: perSecond(arrived), overMs };
  }
}

/** Without a commit a group begins at the oldest record. */
function startOf({ committed, low }: Offsets, now: bigint): bigint {
  return committed ?? (low < now ? low : now);
}

function wentBack(before: Look, now: Look): boolean {
  for (const [partition, { committed, end }] of now.offsets) {
    const was = before.offsets.get(partition);
    if (was === undefined) continue;
    if (end < was.end || (was.committed !== undefined && (committed ?? 0n) < was.committed)) return true;
  }
  return false;
}

export function lagOf(positions: readonly Pick<Position, 'lag'>[]): bigint {
  return positions.reduce((sum, { lag }) => sum + lag, 0n);
}

/** When the lag is gone if both rates stay as they are. */
export function etaOf(lag: bigint, flow: Flow | undefined): Eta {
  if (lag === 0n) return { kind: 'caught-up' };
  if (flow === undefined) return { kind: 'unknown' };
  const gainPerSecond = flow.committedPerSecond - flow.arrivedPerSecond;
  return gainPerSecond > 0 ? { kind: 'in', ms: (Number(lag) * 1_000) / gainPerSecond } : { kind: 'never' };
}
