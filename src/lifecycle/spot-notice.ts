/**
 * What a cloud's word about the end of this machine means to us. The parsers are in spot-<provider>.ts; each reads one
 * answer and never throws: a shape that nobody documented is `unknown`, told once, and changes nothing.
 *
 * An `interruption` is certain. `rebalance` and `maintenance` are early warnings: the machine may live on for hours, so
 * acting on them is the operator's choice.
 */
export const spotProviders = ['aws', 'gcp', 'azure', 'file', 'url'] as const;
export type SpotProvider = (typeof spotProviders)[number];

export const spotKinds = ['interruption', 'rebalance', 'maintenance'] as const;
export type SpotKind = (typeof spotKinds)[number];

export type SpotNotice = {
  readonly kind: SpotKind;
  /** Milliseconds until the machine may be gone; undefined when the notice does not say. */
  readonly leftMs: number | undefined;
  /** What an acknowledgement names, where the cloud takes one. */
  readonly eventId?: string;
};

export type SpotReading =
  | { readonly kind: 'none' }
  | { readonly kind: 'notice'; readonly notice: SpotNotice }
  /** Holds the shape of the answer, never its content. */
  | { readonly kind: 'unknown'; readonly problem: string };

export const nothing: SpotReading = { kind: 'none' };

export function noticed(kind: SpotKind, leftMs?: number): SpotReading {
  return { kind: 'notice', notice: { kind, leftMs } };
}

export function unknown(problem: string): SpotReading {
  return { kind: 'unknown', problem };
}

/** Milliseconds from `nowMs` to a point in time as written; undefined when it is no point in time. 0 when it has passed. */
export function leftUntil(text: unknown, nowMs: number): number | undefined {
  const atMs = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** A JSON object, or undefined for anything else. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** What is known so far, so that a notice that is read again every second counts once. */
export class SpotNotices {
  readonly #endsAt = new Map<SpotKind, number | undefined>();

  /**
   * `new` for the first of its kind, `sooner` when the end has come nearer than was known, else `known`.
   *
   * @param nowMs monotonic
   */
  take({ kind, leftMs }: SpotNotice, nowMs: number): 'new' | 'sooner' | 'known' {
    const endsAt = leftMs === undefined ? undefined : nowMs + leftMs;
    const isNew = !this.#endsAt.has(kind);
    const before = this.#endsAt.get(kind);
    // Whole seconds and two clocks: an end that wanders by less is the same end.
    const isSooner = endsAt !== undefined && (before === undefined || endsAt < before - SAME_END_MS);
    if (isNew || isSooner) this.#endsAt.set(kind, endsAt);
    return isNew ? 'new' : isSooner ? 'sooner' : 'known';
  }
}

const SAME_END_MS = 1_500;
