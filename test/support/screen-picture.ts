/** A terminal's screen as a page: each cell as xterm.js holds it, in a fixed font. For pictures of a screen that was really drawn. */
import type xterm from '@xterm/headless';

const PALETTE: Readonly<Record<number, string>> = { 1: '#ff7b72', 2: '#7ee787', 3: '#e3b341', 7: '#c9d1d9' };
const STYLE = `body{margin:0;background:#0d1117}pre{margin:0;padding:16px;display:inline-block;color:#c9d1d9;
font:14px/1.35 "DejaVu Sans Mono","Liberation Mono",monospace}.b{font-weight:bold;color:#fff}.d{opacity:.6}`;

export function screenPage(terminal: xterm.Terminal): string {
  const { active } = terminal.buffer;
  const lines = Array.from({ length: terminal.rows }, (_, row) => lineOf(active.getLine(active.viewportY + row)));
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><pre>${lines.join('\n')}</pre>`;
}

function lineOf(line: xterm.IBufferLine | undefined): string {
  const cells = Array.from({ length: line?.length ?? 0 }, (_, column) => cellOf(line?.getCell(column)));
  return cells.join('');
}

function cellOf(cell: xterm.IBufferCell | undefined): string {
  const text = escaped(cell?.getChars() || ' ');
  if (cell === undefined || cell.isAttributeDefault()) return text;
  const classes = [cell.isBold() ? 'b' : '', cell.isDim() ? 'd' : ''].filter((name) => name !== '').join(' ');
  const colour = cell.isFgPalette() ? PALETTE[cell.getFgColor()] : undefined;
  return `<span class="${classes}"${colour === undefined ? '' : ` style="color:${colour}"`}>${text}</span>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
