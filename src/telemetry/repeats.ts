/**
 * Which log lines are written at once and which are only counted: the first of a kind at once, what comes of it in the next
 * seconds as one summary, the newest of them with their number. A storm costs a line a window, and a change of kind is seen
 * immediately. Pure: time is an argument.
 */
export type RepeatLimits = {
  readonly windowMs: number;
  /** Kinds that are remembered; beyond, the oldest is let go with its summary. */
  readonly maxKinds: number;
};

export type Summary<T> = { readonly line: T; readonly repeated: number };

export type Verdict<T> = { readonly write: boolean; readonly summaries: readonly Summary<T>[] };

type Kind<T> = { endsAtMs: number; held: T | undefined; count: number };

export class Repeats<T> {
  readonly #limits: RepeatLimits;
  /** In the order in which their windows began. */
  readonly #kinds = new Map<string, Kind<T>>();

  constructor(limits: RepeatLimits) {
    this.#limits = limits;
  }

  /** What to do about a line: write the summaries first, then the line itself if it says so. */
  see(key: string, line: T, nowMs: number): Verdict<T> {
    const summaries = this.due(nowMs);
    const kind = this.#kinds.get(key);
    if (kind !== undefined) {
      kind.held = line;
      kind.count += 1;
      return { write: false, summaries };
    }
    if (this.#kinds.size >= this.#limits.maxKinds) summaries.push(...this.#letGoOldest());
    this.#kinds.set(key, { endsAtMs: nowMs + this.#limits.windowMs, held: undefined, count: 0 });
    return { write: true, summaries };
  }

  /** Summaries of windows that have ended. A kind that went on is held for a further window; one that did not, forgotten. */
  due(nowMs: number): Summary<T>[] {
    const ended = [...this.#kinds].filter(([, { endsAtMs }]) => endsAtMs <= nowMs);
    return ended.flatMap(([key, kind]) => {
      this.#kinds.delete(key);
      if (kind.held === undefined) return [];
      this.#kinds.set(key, { endsAtMs: nowMs + this.#limits.windowMs, held: undefined, count: 0 });
      return [{ line: kind.held, repeated: kind.count }];
    });
  }

  /** When `due` will have something to say; undefined while nothing is held. */
  get nextDueMs(): number | undefined {
    const held = [...this.#kinds.values()].filter((kind) => kind.held !== undefined);
    return held.length === 0 ? undefined : Math.min(...held.map(({ endsAtMs }) => endsAtMs));
  }

  /** Everything that is held, at the end of the program. */
  flush(): Summary<T>[] {
    return this.due(Number.POSITIVE_INFINITY);
  }

  #letGoOldest(): Summary<T>[] {
    const oldest = this.#kinds.entries().next();
    if (oldest.done === true) return [];
    const [key, { held, count }] = oldest.value;
    this.#kinds.delete(key);
    return held === undefined ? [] : [{ line: held, repeated: count }];
  }
}

/** Numbers that tell things apart; others (attempts, milliseconds) differ from line to line. */
const NUMBERED = new Set(['slot', 'partition']);
const LONGEST_PART = 200;

/**
 * What makes two lines of one event the same: their words and switches, and the code of their error. Times, counts and
 * attempts do not.
 */
export function repeatKey(scope: string, event: string, fields: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(fields).flatMap(([name, value]) => {
    if (typeof value === 'string' || typeof value === 'boolean')
      return [`${name}=${String(value).slice(0, LONGEST_PART)}`];
    if (typeof value === 'number') return NUMBERED.has(name) ? [`${name}=${value}`] : [];
    return [`${name}:${codeOf(value)}`];
  });
  return [scope, event, ...parts].join('\n');
}

function codeOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  const { code, type } = value as { readonly code?: unknown; readonly type?: unknown };
  return [type, code].filter((part) => typeof part === 'string').join(' ');
}
