/**
 * Records of a CSV file, with the line each begins at. The first record names the columns.
 *
 * A record that cannot be read is told in its place, and the others go on. What takes the records after it along, a quote
 * that is never closed or a record without end, ends the file with an error.
 */
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { type CsvError, type Info, parse } from 'csv-parse';
import { MAX_LINE_BYTES } from './lines.ts';

export type CsvRecord = { readonly line: number } & (
  | { readonly kind: 'head'; readonly columns: readonly string[] }
  | { readonly kind: 'row'; readonly cells: readonly string[] }
  | { readonly kind: 'bad'; readonly problem: string }
);

type Parsed =
  | { readonly record: readonly Buffer[]; readonly info: Info }
  | { readonly skipped: CsvError | undefined; readonly line: number };

export async function* csvRecords(bytes: AsyncIterable<Uint8Array>, delimiter: string): AsyncGenerator<CsvRecord> {
  const parser = parse({
    delimiter,
    // Bytes, so that what is not UTF-8 is noticed.
    encoding: null,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: MAX_LINE_BYTES,
    // Into the same queue, so that it keeps its place among the records.
    on_skip: (error) => void parser.push({ skipped: error, line: parser.info.lines } satisfies Parsed),
  });
  const source = Readable.from(withoutMark(bytes));
  source.once('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let columns: number | undefined;
  let lastBad = 0;
  try {
    for await (const parsed of parser as AsyncIterable<Parsed>) {
      if ('skipped' in parsed) {
        refuseEndless(parsed.skipped, parsed.line);
        if (parsed.line === lastBad) continue;
        lastBad = parsed.line;
        yield { kind: 'bad', line: parsed.line, problem: `not a CSV record (${parsed.skipped?.code ?? 'unreadable'})` };
        continue;
      }
      const { record, info } = parsed;
      const line = info.lines - record.reduce((sum, cell) => sum + lineFeeds(cell), 0);
      if (!record.every((cell) => isUtf8(cell))) {
        if (columns === undefined) throw new Error('its first line, which names the columns, is not valid UTF-8');
        yield { kind: 'bad', line, problem: 'not valid UTF-8' };
      } else if (columns === undefined) {
        columns = record.length;
        yield { kind: 'head', line, columns: record.map((cell) => cell.toString('utf8').trim()) };
      } else if (record.length !== columns) {
        yield { kind: 'bad', line, problem: `${record.length} fields, and the first line names ${columns}` };
      } else yield { kind: 'row', line, cells: record.map((cell) => cell.toString('utf8')) };
    }
  } finally {
    source.destroy();
  }
}

/** The parser, told to look for the mark itself, would from then on decode what is no UTF-8 without a word. */
async function* withoutMark(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array(0);
  for await (const block of bytes) {
    if (head === undefined) {
      yield block;
      continue;
    }
    head = Buffer.concat([head, block]);
    if (head.byteLength < 3) continue;
    yield head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? head.subarray(3) : head;
    head = undefined;
  }
  if (head !== undefined && head.byteLength > 0) yield head;
}

function refuseEndless(error: CsvError | undefined, line: number): void {
  if (error?.code === 'CSV_QUOTE_NOT_CLOSED') {
    throw new Error(`a quote that is open at line ${line} is never closed, so what follows it cannot be read`);
  }
  if (error?.code === 'CSV_MAX_RECORD_SIZE') {
    throw new Error(`the record at line ${line} is longer than 16 MiB: perhaps a quote is not closed`);
  }
}

function lineFeeds(cell: Buffer): number {
  let count = 0;
  for (let at = cell.indexOf(0x0a); at !== -1; at = cell.indexOf(0x0a, at + 1)) count++;
  return count;
}
