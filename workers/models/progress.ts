/** How far a transfer is: a bar where someone looks at standard error, a line now and then elsewhere, nothing when quiet. */
import { SingleBar } from 'cli-progress';
import type { Watcher } from '../../src/registry/transfer.ts';
import { bytesText } from '../tool/bytes-text.ts';

const LINE_EVERY_MS = 5_000;

export type ClosableWatcher = Watcher & { close(): void };

type Screen = { readonly isTTY?: boolean; write(text: string): unknown };

export function openWatcher(screen: NodeJS.WriteStream, quiet: boolean): ClosableWatcher {
  if (quiet) return { begin: () => {}, moved: () => {}, note: () => {}, close: () => {} };
  return screen.isTTY === true ? barWatcher(screen) : lineWatcher(screen, () => performance.now());
}

function barWatcher(screen: NodeJS.WriteStream): ClosableWatcher {
  let bar: SingleBar | undefined;
  const close = () => {
    bar?.stop();
    bar = undefined;
  };
  return {
    begin: (what, totalBytes) => {
      close();
      bar = new SingleBar({
        format: `${what.padEnd(6)} [{bar}] {percentage}% | ${bytesText(totalBytes)} | {duration_formatted}`,
        stream: screen,
        hideCursor: true,
      });
      bar.start(Math.max(1, totalBytes), 0);
    },
    moved: (bytes) => bar?.increment(bytes),
    note: (text) => void screen.write(`\r\x1b[K${text}\n`),
    close,
  };
}

export function lineWatcher(screen: Screen, now: () => number): ClosableWatcher {
  let doing = '';
  let total = 0;
  let done = 0;
  let lastAt = now();
  const say = () => {
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    screen.write(`${doing}: ${percent}% of ${bytesText(total)}\n`);
  };
  return {
    begin: (what, totalBytes) => {
      [doing, total, done] = [what, totalBytes, 0];
      screen.write(`${doing}: ${bytesText(total)}\n`);
      lastAt = now();
    },
    moved: (bytes) => {
      done += bytes;
      if (now() - lastAt < LINE_EVERY_MS) return;
      lastAt = now();
      say();
    },
    note: (text) => void screen.write(`${text}\n`),
    close: () => {},
  };
}
