/**
 * What standard output is, and what follows from it: the one place where commands decide about colours and whole screens.
 *
 * Colours only on a terminal, never with NO_COLOR set to anything (https://no-color.org) or TERM=dumb. A file or a pipe gets
 * the same text without a single escape sequence. Pure; the screen itself is screen.ts.
 */
import type { Env } from '../../src/config/env-reader.ts';

export type OutputStream = { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

export type Terminal = {
  /** Whether the cursor can be moved: otherwise output is plain lines, one after the other. */
  readonly screen: boolean;
  readonly colours: boolean;
  readonly columns: number;
  readonly rows: number;
};

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** Ask again after a resize: it is a picture of the moment. */
export function terminalOf(stream: OutputStream, env: Env): Terminal {
  const screen = stream.isTTY === true && env.TERM !== 'dumb';
  return {
    screen,
    colours: screen && (env.NO_COLOR ?? '') === '',
    // A terminal that does not know its size says 0.
    columns: positive(stream.columns) ?? DEFAULT_COLUMNS,
    rows: positive(stream.rows) ?? DEFAULT_ROWS,
  };
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

/** What a piece of text means, not how it looks: a colour never says anything that the words do not. */
export type Tone = 'plain' | 'title' | 'quiet' | 'good' | 'warning' | 'bad';

export type Span = { readonly text: string; readonly tone: Tone };

/** One row of the output. */
export type Line = readonly Span[];

const SGR: Readonly<Record<Tone, string>> = {
  plain: '',
  title: '1',
  quiet: '2',
  good: '32',
  warning: '33',
  bad: '31',
};

export function paint(line: Line, colours: boolean): string {
  const painted = line.map(({ text, tone }) =>
    colours && SGR[tone] !== '' && text !== '' ? `\u001b[${SGR[tone]}m${text}\u001b[0m` : text,
  );
  return colours ? painted.join('') : painted.join('').trimEnd();
}

/** The beginning of a line that fits into so many columns; what is cut ends in an ellipsis. */
export function clip(line: Line, columns: number): Line {
  const kept: Span[] = [];
  let room = columns;
  for (const [index, { text, tone }] of line.entries()) {
    const rest = line.slice(index + 1).some((span) => span.text.trim() !== '');
    if (text.length < room || (text.length === room && !rest)) {
      kept.push({ text, tone });
      room -= text.length;
      continue;
    }
    if (room > 0) kept.push({ text: `${text.slice(0, room - 1)}…`, tone });
    return kept;
  }
  return kept;
}
