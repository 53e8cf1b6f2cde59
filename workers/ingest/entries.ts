/**
 * What a file holds, entry after entry: each is one message, as it would come from Kafka, or what is wrong with it.
 *
 * Entries have a position that is the same whenever the same file is read in the same way: a resumed run knows by it what is
 * done. Nothing is held of a file but a block, a document or a row group of Parquet.
 */
import { ServingError } from '../../src/errors.ts';
import { type ColumnNames, contractNames, requireColumns, rowMessage } from '../files/columns.ts';
import { csvRecords } from '../files/csv.ts';
import { readDocument } from '../files/document.ts';
import type { Input } from '../files/inputs.ts';
import { linesOf } from '../files/lines.ts';
import { encode, needsIds, withIds } from '../files/message.ts';
import { openBytes } from '../files/open-bytes.ts';
import { openParquet } from '../files/parquet.ts';

export type Entry = {
  /** Ascending within a file, from 1. */
  readonly position: number;
  /** Line, row, or number of the chunk in its document, for people. */
  readonly place: number;
  readonly value: Uint8Array | undefined;
  /** Why there is no value. */
  readonly problem: ServingError | undefined;
  /** Bytes of the file consumed up to here, more or less. */
  readonly readBytes: number;
};

export type EntryOptions = { readonly columns: ColumnNames; readonly targetTokens: number };

/** Rejects with an error of plain words when the file cannot be read on; see readProblem. */
export function entriesOf(input: Input, options: EntryOptions): AsyncGenerator<Entry> {
  switch (input.kind) {
    case 'lines':
      return lineEntries(input, options);
    case 'csv':
      return csvEntries(input, options);
    case 'parquet':
      return parquetEntries(input, options);
    case 'document':
      return documentEntries(input, options);
  }
}

async function* lineEntries(input: Input, { columns }: EntryOptions): AsyncGenerator<Entry> {
  const { bytes, readBytes } = openBytes(input);
  const isPlain = columns === contractNames;
  for await (const { number, bytes: line } of linesOf(bytes)) {
    const at = { position: number, place: number, readBytes: readBytes() };
    if (line === undefined) yield { ...at, ...bad('CHUNK_TOO_LARGE', 'value: a line longer than 16 MiB') };
    else yield { ...at, value: lineValue(line, input.name, number, columns, isPlain), problem: undefined };
  }
}

/** What is no JSON stays as it is: the decoder says what is wrong with it. */
function lineValue(line: Uint8Array, file: string, number: number, columns: ColumnNames, isPlain: boolean): Uint8Array {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
  } catch {
    return line;
  }
  if (isPlain) return needsIds(json) ? encode(withIds(json, file, number)) : line;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return line;
  return rowMessage(new Map(Object.entries(json)), columns, file, number);
}

async function* csvEntries(input: Input, { columns: names }: EntryOptions): AsyncGenerator<Entry> {
  const { bytes, readBytes } = openBytes(input);
  let columns: readonly string[] = [];
  let position = 0;
  for await (const record of csvRecords(bytes, /\.tsv(\.|$)/i.test(input.path) ? '\t' : ',')) {
    position++;
    const at = { position, place: record.line, readBytes: readBytes() };
    if (record.kind === 'head') {
      columns = record.columns;
      requireColumns(columns, names, input.name);
    } else if (record.kind === 'bad') yield { ...at, ...bad('CHUNK_INVALID', `value: ${record.problem}`) };
    else {
      const row = new Map(columns.map((name, index) => [name, record.cells[index]]));
      yield { ...at, value: rowMessage(row, names, input.name, record.line), problem: undefined };
    }
  }
}

async function* parquetEntries(input: Input, { columns: names }: EntryOptions): AsyncGenerator<Entry> {
  const file = await openParquet(input.path);
  requireColumns(file.columns, names, input.name);
  const { metadata, ...own } = names;
  const asked = new Set<string>([...Object.values(own), ...(metadata === 'all' ? file.columns : metadata)]);
  const wanted = file.columns.filter((name) => asked.has(name));
  let readBytes = 0;
  let position = 0;
  for await (const row of file.rows(wanted, (share) => (readBytes = Math.round(share * input.bytes)))) {
    position++;
    const value = rowMessage(new Map(Object.entries(row)), names, input.name, position);
    yield { position, place: position, readBytes, value, problem: undefined };
  }
}

async function* documentEntries(input: Input, { targetTokens }: EntryOptions): AsyncGenerator<Entry> {
  const prepared = await readDocument(input, targetTokens);
  for (const [index, one] of prepared.entries()) {
    const position = index + 1;
    const at = { position, place: position, readBytes: Math.round((input.bytes * position) / prepared.length) };
    if (one.ok) yield { ...at, value: one.message.value, problem: undefined };
    else yield { ...at, ...bad('CHUNK_INVALID', `value: ${one.problem}`) };
  }
}

function bad(code: 'CHUNK_INVALID' | 'CHUNK_TOO_LARGE', message: string): Pick<Entry, 'value' | 'problem'> {
  return { value: undefined, problem: new ServingError(code, message) };
}
