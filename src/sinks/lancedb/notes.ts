/**
 * Where the notes of a database lie: each revision is a thing of its own that must not be there when it is made.
 *
 * In a folder that is a file, whole when it appears, and the file system lets one of many make it. In an object store it is
 * an empty table whose schema carries the text. Surprising: LanceDB lets two make the same table at the same moment, so
 * there one of two that change a note within milliseconds may find its change gone.
 */
import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { loadLanceDb } from './library.ts';

export type NoteShelf = {
  names(): Promise<readonly string[]>;
  read(name: string): Promise<string>;
  /** False when it is there already. */
  put(name: string, text: string): Promise<boolean>;
  remove(name: string): Promise<void>;
};

const SUFFIX = '.json';
const VALUE_KEY = 'rag-serving.note';

/** Node's file system calls only: the folder is there. */
export function shelfInFolder(folder: string): NoteShelf {
  const pathOf = (name: string) => join(folder, `${name}${SUFFIX}`);
  return {
    names: async () =>
      (await readdir(folder)).filter((name) => name.endsWith(SUFFIX)).map((name) => name.slice(0, -SUFFIX.length)),
    read: (name) => readFile(pathOf(name), 'utf8'),
    put: async (name, text) => {
      const draft = `${pathOf(name)}.${randomBytes(6).toString('hex')}`;
      await writeFile(draft, text, { flush: true });
      try {
        await link(draft, pathOf(name));
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw error;
      } finally {
        await rm(draft, { force: true });
      }
    },
    remove: (name) => rm(pathOf(name), { force: true }),
  };
}

export function shelfInTables(connection: Connection): NoteShelf {
  const names = () => connection.tableNames({ limit: 1_000_000 });
  return {
    names,
    read: async (name) => {
      const table = await connection.openTable(name);
      const text = (await table.schema()).metadata.get(VALUE_KEY) ?? '{}';
      table.close();
      return text;
    },
    put: async (name, text) => {
      const { arrow } = loadLanceDb();
      const schema = new arrow.Schema(
        [new arrow.Field('nothing', new arrow.Bool(), true)],
        new Map([[VALUE_KEY, text]]),
      );
      try {
        (await connection.createEmptyTable(name, schema)).close();
        return true;
      } catch (error) {
        if ((await names()).includes(name)) return false;
        throw error;
      }
    },
    remove: (name) => connection.dropTable(name),
  };
}
