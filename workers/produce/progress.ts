/** How far it is: a bar where someone looks at standard error, a plain line now and then where it goes into a file. */
import { SingleBar } from 'cli-progress';

export type Progress = {
  /** Bytes of input read so far, and chunks that the broker acknowledged. */
  update(readBytes: number, chunks: number): void;
  /** A line of text that must not tear the bar. */
  line(text: string): void;
  stop(): void;
};

/** The part of a stream that is used here. */
export type Screen = { readonly isTTY?: boolean; write(text: string): unknown };

const LINE_EVERY_MS = 5_000;

export function openProgress(screen: NodeJS.WriteStream, totalBytes: number): Progress {
  return screen.isTTY === true
    ? barProgress(screen, totalBytes)
    : lineProgress(screen, totalBytes, () => performance.now());
}

function barProgress(screen: NodeJS.WriteStream, totalBytes: number): Progress {
  const bar = new SingleBar({
    format: 'produce [{bar}] {percentage}% | {chunks} chunks | {duration_formatted}',
    stream: screen,
    hideCursor: true,
    clearOnComplete: false,
    // Without it a long run of sends that are not awaited by the bar would still show the last state.
    forceRedraw: true,
  });
  bar.start(Math.max(1, totalBytes), 0, { chunks: 0 });
  let last = { readBytes: 0, chunks: 0 };
  return {
    update: (readBytes, chunks) => {
      last = { readBytes, chunks };
      bar.update(Math.min(readBytes, Math.max(1, totalBytes)), { chunks });
    },
    line: (text) => {
      screen.write(`\r\x1b[K${text}\n`);
      bar.update(last.readBytes, { chunks: last.chunks });
    },
    stop: () => bar.stop(),
  };
}

export function lineProgress(screen: Screen, totalBytes: number, now: () => number): Progress {
  let lastAt = now();
  return {
    update: (readBytes, chunks) => {
      if (now() - lastAt < LINE_EVERY_MS) return;
      lastAt = now();
      const percent = totalBytes === 0 ? 100 : Math.floor((100 * Math.min(readBytes, totalBytes)) / totalBytes);
      screen.write(`produce: ${percent}% read, ${chunks} chunks acknowledged\n`);
    },
    line: (text) => void screen.write(`${text}\n`),
    stop: () => {},
  };
}
