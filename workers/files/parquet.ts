/**
 * Rows of a Parquet file, one row group at a time in memory and only the columns that are wanted.
 *
 * A file that is not whole has no table of contents, so nothing of it can be read.
 */
import { stat } from 'node:fs/promises';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

export type ParquetFile = {
  readonly columns: readonly string[];
  rows(wanted: readonly string[], onGroup: (doneShare: number) => void): AsyncGenerator<Record<string, unknown>>;
};

const MIN_BYTES = 12;

export async function openParquet(path: string): Promise<ParquetFile> {
  if ((await stat(path)).size < MIN_BYTES) throw new Error('not a Parquet file: too short');
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file).catch(() => {
    throw new Error('not a whole Parquet file: its footer cannot be read');
  });
  const columns = parquetSchema(metadata).children.map(({ element }) => element.name);
  const total = Math.max(1, Number(metadata.num_rows));
  return {
    columns,
    async *rows(wanted, onGroup) {
      let from = 0;
      for (const group of metadata.row_groups) {
        const to = from + Number(group.num_rows);
        const read = { file, metadata, compressors, columns: [...wanted], rowStart: from, rowEnd: to };
        yield* await parquetReadObjects(read).catch((error: unknown) => {
          throw new Error(
            `rows ${from + 1} to ${to} cannot be read (${error instanceof Error ? error.name : 'damaged'})`,
          );
        });
        from = to;
        onGroup(to / total);
      }
    },
  };
}
