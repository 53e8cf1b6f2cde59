/**
 * The TLS files of a connection as they are now: looked at again and again, and taken over when they were rotated.
 *
 * New files count when two looks in a row have seen the same: a key and its certificate are two files, and even where
 * Kubernetes swaps a whole folder (`..data`) a look may fall in between. Looking beats watching: a swap of a symbolic link
 * tells a watcher of the file nothing. Files that are no good change nothing, and are told once.
 */
import { readFile } from 'node:fs/promises';
import { loadTlsMaterial, type TlsMaterial, type TlsPart, type TlsPaths, tlsProblems } from '../config/file-types.ts';
import type { ChannelTls } from './connection.ts';

export type TlsFilesOptions = {
  readonly paths: TlsPaths;
  readonly serverName: string | undefined;
  /** What each path is called where it is set, for messages. */
  readonly settings: Readonly<Record<TlsPart, string>>;
  readonly everyMs?: number;
  readonly events: TlsFilesEvents;
};

export type TlsFilesEvents = {
  /** New connections use the new files from now on. */
  onRotated(): void;
  /** The files cannot be used as they are now, those before go on; or those in use have run out. Each line names setting, fault, remedy and file. */
  onProblems(problems: readonly string[]): void;
};

type Seen = ReadonlyMap<string, string | Error>;

const LOOK_EVERY_MS = 5_000;
/** Until the second look at files that have changed. */
const LOOK_AGAIN_MS = 500;
const PARTS = ['caPath', 'certPath', 'keyPath'] as const satisfies readonly TlsPart[];

export class TlsFiles implements ChannelTls {
  readonly serverName: string | undefined;
  readonly #options: TlsFilesOptions;
  readonly #listeners = new Set<() => void>();
  #material: TlsMaterial;
  #timer: NodeJS.Timeout | undefined;
  #changed: TlsMaterial | undefined;
  #told = '';

  /** Reads the files at once. They have been checked with the rest of the configuration. */
  constructor(options: TlsFilesOptions) {
    this.#options = options;
    this.serverName = options.serverName;
    this.#material = loadTlsMaterial(options.paths);
  }

  get ca(): string | undefined {
    return this.#material.ca;
  }

  get cert(): string | undefined {
    return this.#material.cert;
  }

  get key(): string | undefined {
    return this.#material.key;
  }

  /** Looks for as long as anybody listens; keeps no process alive. */
  onChange(listener: () => void): () => void {
    const { paths } = this.#options;
    if (PARTS.every((part) => paths[part] === undefined)) return () => {};
    this.#listeners.add(listener);
    if (this.#timer === undefined) this.#lookIn(this.#everyMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  get #everyMs(): number {
    return this.#options.everyMs ?? LOOK_EVERY_MS;
  }

  #lookIn(ms: number): void {
    const timer = setTimeout(async () => {
      const soon = await this.#look();
      // Nobody listens any more, or somebody began to anew.
      if (this.#timer === timer) this.#lookIn(soon ? Math.min(LOOK_AGAIN_MS, this.#everyMs) : this.#everyMs);
    }, ms).unref();
    this.#timer = timer;
  }

  /** True when a second look is needed soon. */
  async #look(): Promise<boolean> {
    const { paths, events } = this.#options;
    const seen = await readAll(paths);
    const found = materialOf(paths, seen);
    const isNew = !same(found, this.#material);
    if (isNew && (this.#changed === undefined || !same(found, this.#changed))) {
      this.#changed = found;
      return true;
    }
    this.#changed = isNew ? found : undefined;
    if (this.#refuse(seen) || !isNew) return false;
    this.#material = found;
    this.#changed = undefined;
    events.onRotated();
    for (const listener of [...this.#listeners]) listener();
    return false;
  }

  /** True when something is wrong with the files. */
  #refuse(seen: Seen): boolean {
    const { paths, settings, events } = this.#options;
    const problems = tlsProblems(paths, Date.now(), (path) => {
      const text = seen.get(path)!;
      if (text instanceof Error) throw text;
      return text;
    }).map(({ part, says }) => `${settings[part]} ${says}`);
    const told = problems.join('\n');
    if (problems.length > 0 && told !== this.#told) events.onProblems(problems);
    this.#told = told;
    return problems.length > 0;
  }
}

async function readAll(paths: TlsPaths): Promise<Seen> {
  const files = PARTS.map((part) => paths[part]).filter((path) => path !== undefined);
  const read = (path: string) => readFile(path, 'utf8').catch((error: Error) => error);
  return new Map(await Promise.all(files.map(async (path) => [path, await read(path)] as const)));
}

/** What cannot be read is an empty text here: it is no material, and it differs from any that was in use. */
function materialOf(paths: TlsPaths, seen: Seen): TlsMaterial {
  const text = (path: string | undefined) => {
    if (path === undefined) return undefined;
    const read = seen.get(path);
    return typeof read === 'string' ? read : '';
  };
  return { ca: text(paths.caPath), cert: text(paths.certPath), key: text(paths.keyPath) };
}

function same(one: TlsMaterial, other: TlsMaterial): boolean {
  return one.ca === other.ca && one.cert === other.cert && one.key === other.key;
}
