import { describe, expect, it } from 'vitest';
import { grid } from '../../../../workers/tool/grid.ts';
import { clip, type Line, type OutputStream, paint, terminalOf } from '../../../../workers/tool/terminal.ts';

const tty: OutputStream = { isTTY: true, columns: 100, rows: 40 };

describe('terminalOf', () => {
  const cases: [name: string, stream: OutputStream, env: Record<string, string>, screen: boolean, colours: boolean][] =
    [
      ['a terminal', tty, { TERM: 'xterm' }, true, true],
      ['a pipe', {}, { TERM: 'xterm' }, false, false],
      ['NO_COLOR', tty, { NO_COLOR: '1' }, true, false],
      ['NO_COLOR with any value', tty, { NO_COLOR: '0' }, true, false],
      ['an empty NO_COLOR says nothing', tty, { NO_COLOR: '' }, true, true],
      ['a dumb terminal', tty, { TERM: 'dumb' }, false, false],
    ];
  for (const [name, stream, env, screen, colours] of cases) {
    it(name, () => expect(terminalOf(stream, env)).toMatchObject({ screen, colours }));
  }
  it('a terminal that does not know its size has 80 x 24', () => {
    expect(terminalOf({ isTTY: true, columns: 0, rows: 0 }, {})).toMatchObject({ columns: 80, rows: 24 });
    expect(terminalOf(tty, {})).toMatchObject({ columns: 100, rows: 40 });
  });
});

const line: Line = [
  { text: 'lag  ', tone: 'quiet' },
  { text: '12', tone: 'bad' },
  { text: '  ', tone: 'plain' },
];

describe('paint', () => {
  it('without colours there is not one escape, and no blanks at the end', () => {
    expect(paint(line, false)).toBe('lag  12');
  });
  it('with colours every span ends its own', () => {
    expect(paint(line, true)).toBe('\u001b[2mlag  \u001b[0m\u001b[31m12\u001b[0m  ');
  });
});

describe('clip', () => {
  const text = (columns: number) => paint(clip(line, columns), false);
  it('keeps what fits, and marks what does not', () => {
    expect(text(9)).toBe('lag  12');
    expect(text(7)).toBe('lag  12');
    expect(text(6)).toBe('lag  …');
    expect(text(4)).toBe('lag…');
    expect(text(1)).toBe('…');
    expect(text(0)).toBe('');
  });
  it('is never wider than it may be', () => {
    for (let columns = 0; columns < 12; columns++) {
      expect(clip(line, columns).reduce((sum, { text: one }) => sum + one.length, 0)).toBeLessThanOrEqual(columns);
    }
  });
});

it('grid: columns under their titles, numbers to the right, foreign text made harmless', () => {
  const lines = grid(
    ['N', 'NAME', 'END'],
    [
      [{ text: '1,000', align: 'right' }, { text: 'a\u001b[2J' }, { text: 'x' }],
      [{ text: '7', align: 'right' }, { text: 'b' }, { text: 'y', tone: 'bad' }],
    ],
  );
  expect(lines.map((one) => paint(one, false))).toEqual([
    '    N  NAME        END',
    '1,000  a\\u001b[2J  x',
    '    7  b           y',
  ]);
});
