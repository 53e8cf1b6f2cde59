/** How far it is: a bar where someone looks at standard error, a plain line now and then where it goes into a file. */
import { SingleBar } from 'cli-progress';

export type Progress = {
  /** Bytes of input read so far, and chunks that have arrived. */
  update(readBytes: number, chunks: number): void;
  /** A line of text that must not tear the bar. */
  line(text: string): void;
  stop(): void;
};

/** The part of a stream that is used here. */
export type Screen = { readonly isTTY?: boolean; write(text: string): unknown };

/** Of what command it is, and what is said of a chunk that has arrived. */
export type Wording = { readonly command: string; readonly arrived: string };

const LINE_EVERY_MS = 5_000;

export function openProgress(screen: NodeJS.WriteStream, totalBytes: number, wording: Wording): Progress {
  return screen.isTTY === true
    ? barProgress(screen, totalBytes, wording)
    : lineProgress(screen, totalBytes, () => performance.now(), wording);
}

function barProgress(screen: NodeJS.WriteStream, totalBytes: number, { command }: Wording): Progress {
  const bar = new SingleBar({
    format: `${command} [{bar}] {percentage}% | {chunks} chunks | {rate}/s | {duration_formatted}, {eta_formatted} left`,
    stream: screen,
    hideCursor: true,
    clearOnComplete: false,
    // Without it a long run of sends that are not awaited by the bar would still show the last state.
    forceRedraw: true,
  });
  bar.start(Math.max(1, totalBytes), 0, { chunks: 0, rate: 0 });
  const startedAt = performance.now();
  let first: number | undefined;
  let last = { readBytes: 0, chunks: 0 };
  return {
    update: (readBytes, chunks) => {
      last = { readBytes, chunks };
      // What an earlier run did is no speed of this one.
      first ??= chunks;
      const rate = Math.round(((chunks - first) * 1_000) / Math.max(1, performance.now() - startedAt));
      bar.update(Math.min(readBytes, Math.max(1, totalBytes)), { chunks, rate });
    },
    line: (text) => {
      screen.write(`\r\x1b[K${text}\n`);
      bar.update(last.readBytes, { chunks: last.chunks });
    },
    stop: () => bar.stop(),
  };
}

export function lineProgress(
  screen: Screen,
  totalBytes: number,
  now: () => number,
  { command, arrived }: Wording,
): Progress {
  let last = { at: now(), readBytes: 0, chunks: 0 };
  return {
    update: (readBytes, chunks) => {
      const seconds = (now() - last.at) / 1_000;
      if (seconds * 1_000 < LINE_EVERY_MS) return;
      const rate = Math.max(0, Math.round((chunks - last.chunks) / seconds));
      const bytesPerSecond = (readBytes - last.readBytes) / seconds;
      last = { at: now(), readBytes, chunks };
      const read =
        totalBytes === 0 ? '' : `${Math.floor((100 * Math.min(readBytes, totalBytes)) / totalBytes)}% read, `;
      const left = Math.max(0, totalBytes - readBytes);
      const eta = bytesPerSecond > 0 && left > 0 ? `, about ${Math.ceil(left / bytesPerSecond)} s left` : '';
      screen.write(`${command}: ${read}${chunks} chunks ${arrived}, ${rate}/s${eta}\n`);
    },
    line: (text) => void screen.write(`${text}\n`),
    stop: () => {},
  };
}
