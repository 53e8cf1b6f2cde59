/**
 * What is shown where there is not room for all: blocks of lines, of which the long ones are cut until everything fits. Pure.
 * On a pipe there is room for all.
 */
import { clip, type Line } from '../tool/terminal.ts';

export type Block = {
  /** Shown whole, whatever happens. */
  readonly head: readonly Line[];
  /** The most important first when some are left out; see `ordered`. */
  readonly rows: readonly Line[];
  /** Which rows to keep of them, by importance, when not all fit; the order on the screen stays. Undefined: the first ones. */
  readonly ranks?: readonly number[];
  /** Said in place of what was left out. */
  readonly rest: (left: readonly number[]) => Line;
};

export type Room = { readonly columns: number; readonly rows: number };

export const UNLIMITED: Room = { columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY };

export function layOut(blocks: readonly Block[], room: Room): readonly Line[] {
  const shown = blocks.map(({ rows }) => rows.length);
  const height = () => blocks.reduce((sum, block, i) => sum + heightOf(block, shown[i] ?? 0), 0);
  while (height() > room.rows) {
    // The longest block gives a row; with its rest line it is shorter only from the second row that it gives.
    const longest = shown.indexOf(Math.max(...shown));
    const rows = shown[longest] ?? 0;
    if (rows === 0) break;
    shown[longest] = rows === blocks[longest]?.rows.length ? Math.max(0, rows - 2) : rows - 1;
  }
  const lines = blocks.flatMap((block, i) => linesOf(block, shown[i] ?? 0));
  const clipped = lines.map((line) => clip(line, room.columns));
  return clipped.slice(0, room.rows);
}

function heightOf({ head, rows }: Block, shown: number): number {
  return head.length + shown + (shown < rows.length ? 1 : 0);
}

function linesOf({ head, rows, ranks, rest }: Block, shown: number): readonly Line[] {
  if (shown >= rows.length) return [...head, ...rows];
  const all = rows.map((_, index) => index);
  const byRank = ranks === undefined ? all : [...all].sort((a, b) => (ranks[b] ?? 0) - (ranks[a] ?? 0) || a - b);
  const kept = new Set(byRank.slice(0, shown));
  return [...head, ...rows.filter((_, index) => kept.has(index)), rest(all.filter((index) => !kept.has(index)))];
}
