/** Notes and dropping of collections in LanceDB. Of a note the newest revision counts; the one before it is kept, for who looked just before. */
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { maskUrlCredentials } from '../../config/url-masking.ts';
import type { JsonObject } from '../../records/chunk.ts';
import { bounded, throwIfAborted } from '../bounded.ts';
import type { Note, StoreAdmin } from '../store-admin.ts';
import { translateLanceDbError } from './errors.ts';
import { connect, loadLanceDb } from './library.ts';
import { type NoteShelf, shelfInFolder, shelfInTables } from './notes.ts';
import { isLocal, type LanceDbSinkOptions, type ResolvedLanceDbOptions, resolveLanceDbOptions } from './options.ts';

const KEPT_REVISIONS = 2;

export class LanceDbAdmin implements StoreAdmin {
  readonly #options: ResolvedLanceDbOptions;
  readonly #where: string;
  #connection: Connection | undefined;

  constructor(options: LanceDbSinkOptions) {
    this.#options = resolveLanceDbOptions(options);
    this.#where = isLocal(this.#options.uri) ? resolve(this.#options.uri) : maskUrlCredentials(this.#options.uri);
  }

  readNote(collection: string, signal?: AbortSignal): Promise<Note | undefined> {
    const read = async (): Promise<Note | undefined> => {
      const shelf = await this.#shelf();
      const revision = (await revisionsOf(shelf, collection)).at(-1);
      if (revision === undefined) return undefined;
      return { value: JSON.parse(await shelf.read(nameOf(collection, revision))) as JsonObject, revision };
    };
    return this.#run('reading a note', read, undefined, signal);
  }

  writeNote(collection: string, value: JsonObject, revision: number, signal?: AbortSignal): Promise<boolean> {
    const write = async (): Promise<boolean> => {
      const shelf = await this.#shelf();
      const revisions = await revisionsOf(shelf, collection);
      if ((revisions.at(-1) ?? 0) !== revision) return false;
      if (!(await shelf.put(nameOf(collection, revision + 1), JSON.stringify(value)))) return false;
      for (const old of revisions.filter((one) => one <= revision + 1 - KEPT_REVISIONS)) {
        await shelf.remove(nameOf(collection, old)).catch(() => undefined);
      }
      return true;
    };
    return this.#run('writing a note', write, false, signal);
  }

  async drop(collection: string, signal?: AbortSignal): Promise<void> {
    const drop = async () => {
      const connection = await this.#connect();
      const names = await connection.tableNames({ limit: 1_000_000 });
      for (const name of [`${collection}_tombstones`, collection]) {
        if (names.includes(name)) await connection.dropTable(name);
      }
    };
    await this.#run('drop', drop, undefined, signal);
  }

  async close(): Promise<void> {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #shelf(): Promise<NoteShelf> {
    return isLocal(this.#options.uri) ? shelfInFolder(this.#where) : shelfInTables(await this.#connect());
  }

  /** Answers `absent` for a folder that is not there, which connecting would make. */
  async #run<T>(what: string, work: () => Promise<T>, absent: T, signal: AbortSignal | undefined): Promise<T> {
    throwIfAborted(signal, `LanceDB ${what}`);
    if (isLocal(this.#options.uri) && !(await isThere(this.#where))) return absent;
    try {
      return await bounded(work(), this.#options.writeTimeoutMs, `LanceDB ${what}`, signal);
    } catch (error) {
      throw translateLanceDbError(error, `LanceDB ${what}`, this.#where);
    }
  }

  async #connect(): Promise<Connection> {
    this.#connection ??= await connect(loadLanceDb().lancedb, this.#options);
    return this.#connection;
  }
}

/** Oldest first. */
async function revisionsOf(shelf: NoteShelf, collection: string): Promise<readonly number[]> {
  const start = `${collection}_note_`;
  return (await shelf.names())
    .filter((name) => name.startsWith(start) && /^\d{10}$/.test(name.slice(start.length)))
    .map((name) => Number(name.slice(start.length)))
    .sort((a, b) => a - b);
}

function nameOf(collection: string, revision: number): string {
  return `${collection}_note_${String(revision).padStart(10, '0')}`;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
