/**
 * Text for a terminal: columns, and foreign text made harmless. An id or a reason may hold anything, also sequences that
 * move the cursor or rename the window. Pure; no colours, so nothing depends on what standard output is.
 */

const MAX_CELL = 48;
/** Control characters, and those that turn the direction of writing. */
const HARMFUL = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function harmless(text: string): string {
  return text.replace(HARMFUL, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Undefined is shown as `-`. Columns are as wide as their widest cell; long cells are cut. */
export function table(head: readonly string[], rows: readonly (readonly (string | undefined)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(cell))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '));
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

function cell(text: string | undefined): string {
  if (text === undefined || text === '') return '-';
  const safe = harmless(text);
  return safe.length > MAX_CELL ? `${safe.slice(0, MAX_CELL - 1)}…` : safe;
}
