/**
 * The alternate screen of a terminal, by hand: entered, drawn whole, and left so that what was there before comes back.
 *
 * It is also left when the process ends in some other way, and while it is suspended (Ctrl-Z). A line that is too long is not
 * wrapped, so one wide character never moves the lines below it.
 */
import type { OutputStream } from './terminal.ts';

export type ScreenOutput = OutputStream & {
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
};

/** Alternate screen, no cursor, no wrapping; and back in reverse. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export class Screen {
  readonly #output: ScreenOutput;
  readonly #redraw: () => void;
  #entered = false;

  /** `redraw` is called when the size has changed, and after a suspension. */
  constructor(output: ScreenOutput, redraw: () => void) {
    this.#output = output;
    this.#redraw = redraw;
  }

  enter(): void {
    this.#show();
    this.#output.on('resize', this.#redraw);
    process.on('exit', this.#hide);
    process.on('SIGTSTP', this.#suspend);
    process.on('SIGCONT', this.#resume);
  }

  /** The lines that the screen has rows for. */
  draw(lines: readonly string[]): void {
    if (!this.#entered) return;
    this.#output.write(`${HOME}${lines.map((line) => `${line}${CLEAR_LINE_END}`).join('\r\n')}${CLEAR_BELOW}`);
  }

  leave(): void {
    this.#output.off('resize', this.#redraw);
    process.off('exit', this.#hide);
    process.off('SIGTSTP', this.#suspend);
    process.off('SIGCONT', this.#resume);
    this.#hide();
  }

  #show(): void {
    this.#entered = true;
    this.#output.write(ENTER);
  }

  readonly #hide = (): void => {
    if (!this.#entered) return;
    this.#entered = false;
    this.#output.write(LEAVE);
  };

  readonly #suspend = (): void => {
    this.#hide();
    process.kill(process.pid, 'SIGSTOP');
  };

  readonly #resume = (): void => {
    if (this.#entered) return;
    this.#show();
    this.#redraw();
  };
}
