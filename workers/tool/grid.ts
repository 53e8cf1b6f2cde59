/** Columns of painted text: like `table`, for output whose cells have tones. Pure; foreign text is made harmless. */
import { harmless } from './table.ts';
import type { Line, Span, Tone } from './terminal.ts';

export type Cell = { readonly text: string; readonly tone?: Tone; readonly align?: 'right' };

const GAP = '  ';

/** The head first, in the quiet tone; every column is as wide as its widest cell, and the last one is not padded. */
export function grid(head: readonly string[], rows: readonly (readonly Cell[])[]): readonly Line[] {
  const safe = rows.map((row) => row.map((cell) => ({ ...cell, text: harmless(cell.text) })));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...safe.map((row) => row[column]?.text.length ?? 0)),
  );
  const titles = head.map((text, column): Cell => {
    const align = rows[0]?.[column]?.align;
    return { text, tone: 'quiet', ...(align !== undefined && { align }) };
  });
  return [titles, ...safe].map((row) => lineOf(row, widths));
}

function lineOf(row: readonly Cell[], widths: readonly number[]): Line {
  return row.map(({ text, tone = 'plain', align }, column): Span => {
    const width = widths[column] ?? 0;
    const isLast = column === row.length - 1;
    const padded = align === 'right' ? text.padStart(width) : isLast ? text : text.padEnd(width);
    return { text: isLast ? padded : `${padded}${GAP}`, tone };
  });
}
