/** What a transfer tells whoever watches it. */
export type Watcher = {
  /** Something else begins, of so many bytes. */
  begin(what: string, totalBytes: number): void;
  /** Bytes done; negative when some must be done again. */
  moved(bytes: number): void;
  note(text: string): void;
};

export const unwatched: Watcher = { begin: () => {}, moved: () => {}, note: () => {} };
