/** What stands on the page, before it is elements: words, numbers with their exact value, points in time, states. */

/** `value` is what /status says, `text` how it reads. */
export type Cell =
  | { readonly kind: 'text'; readonly text: string }
  /** `note`: said below it, where a column of its own would leave a phone no room. */
  | { readonly kind: 'code'; readonly text: string; readonly note?: string | undefined }
  | { readonly kind: 'number'; readonly value: number | string; readonly text: string }
  | { readonly kind: 'since'; readonly at: string }
  | { readonly kind: 'clock'; readonly at: string }
  | { readonly kind: 'state'; readonly tone: Tone; readonly text: string };

/** Never by colour alone: each has its sign and its words. */
export type Tone = 'good' | 'bad' | 'odd' | 'quiet';

export type Table = {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Said instead of an empty table. */
  readonly empty: string;
  /** May be longer than its place: scrolls by itself, also by keyboard. */
  readonly isLong?: boolean;
};

export type Fact = { readonly name: string; readonly cell: Cell; readonly note?: string | undefined };

export function text(value: string): Cell {
  return { kind: 'text', text: value };
}

export function code(value: string, note?: string | null): Cell {
  return { kind: 'code', text: value, note: note ?? undefined };
}

export function number(value: number | string, reads: string): Cell {
  return { kind: 'number', value, text: reads };
}

export function since(at: string): Cell {
  return { kind: 'since', at };
}

export function clock(at: string): Cell {
  return { kind: 'clock', at };
}

export function state(tone: Tone, value: string): Cell {
  return { kind: 'state', tone, text: value };
}
