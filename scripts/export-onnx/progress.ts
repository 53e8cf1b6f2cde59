/** How far a download is: a bar where someone looks at standard error, a line for each tenth where it goes into a file. */
import { SingleBar } from 'cli-progress';
import type { OnFileBytes } from './hub/fetch-files.ts';

export type DownloadProgress = { readonly update: OnFileBytes; stop(): void };

export function downloadProgress(screen: NodeJS.WriteStream): DownloadProgress {
  return screen.isTTY === true ? barProgress(screen) : lineProgress((line) => void screen.write(`${line}\n`));
}

function barProgress(screen: NodeJS.WriteStream): DownloadProgress {
  const format = '{file} [{bar}] {percentage}% | {eta_formatted}';
  const bar = new SingleBar({ format, stream: screen, hideCursor: true, clearOnComplete: false });
  let current: string | undefined;
  return {
    update: (file, bytes, ofBytes) => {
      if (file !== current) {
        if (current !== undefined) bar.stop();
        bar.start(ofBytes, bytes, { file });
        current = file;
      }
      bar.update(bytes);
    },
    stop: () => bar.stop(),
  };
}

export function lineProgress(write: (line: string) => void): DownloadProgress {
  let last = '';
  return {
    update: (file, bytes, ofBytes) => {
      const line = `${file}: ${ofBytes === 0 ? 100 : Math.floor((10 * bytes) / ofBytes) * 10} %`;
      if (line === last) return;
      last = line;
      write(line);
    },
    stop: () => {},
  };
}
