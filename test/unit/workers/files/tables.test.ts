import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, describe, expect, it } from 'vitest';
import { type ColumnNames, contractNames, rowMessage } from '../../../../workers/files/columns.ts';
import { type CsvRecord, csvRecords } from '../../../../workers/files/csv.ts';
import type { Input } from '../../../../workers/files/inputs.ts';
import { openBytes, readProblem } from '../../../../workers/files/open-bytes.ts';
import { openParquet } from '../../../../workers/files/parquet.ts';
import { type Entry, entriesOf } from '../../../../workers/ingest/entries.ts';
import { storedZstdFrame } from '../../../integration/kafka/zstd-frame.ts';

const dir = mkdtempSync(join(tmpdir(), 'rag-tables-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function csv(text: string | Buffer): Promise<CsvRecord[]> {
  const records: CsvRecord[] = [];
  const blocks = async function* () {
    yield Buffer.from(text);
  };
  for await (const record of csvRecords(blocks(), ',')) records.push(record);
  return records;
}

function input(name: string, bytes: Uint8Array | string, more: Partial<Input> = {}): Input {
  const path = join(dir, name);
  writeFileSync(path, bytes);
  return { kind: 'lines', compression: undefined, path, name, bytes: Buffer.byteLength(bytes), ...more };
}

async function entries(file: Input, columns: ColumnNames = contractNames): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entry of entriesOf(file, { columns, targetTokens: 50 })) all.push(entry);
  return all;
}

const messageOf = ({ value }: Entry): unknown => JSON.parse(Buffer.from(value ?? []).toString('utf8'));

describe('csvRecords', () => {
  it('takes a byte order mark, CRLF, blank lines, and line ends inside quotes, and tells where a record begins', async () => {
    expect(await csv('\ufeffa,b\r\n1,"x\ny"\r\n\r\n2,3\r\n')).toEqual([
      { kind: 'head', line: 1, columns: ['a', 'b'] },
      { kind: 'row', line: 2, cells: ['1', 'x\ny'] },
      { kind: 'row', line: 5, cells: ['2', '3'] },
    ]);
  });

  it('tells a record of too many fields and one that is not UTF-8, and goes on', async () => {
    const records = await csv(
      Buffer.concat([Buffer.from('a,b\n1,2,3\n4,'), Buffer.from([0xff]), Buffer.from('\n5,6\n')]),
    );
    expect(records.map(({ kind, line }) => [kind, line])).toEqual([
      ['head', 1],
      ['bad', 2],
      ['bad', 3],
      ['row', 4],
    ]);
  });

  it('a mark at the beginning does not hide what is no UTF-8', async () => {
    const records = await csv(Buffer.concat([Buffer.from('\ufeffa,b\n1,'), Buffer.from([0xff, 0x0a])]));
    expect(records.map(({ kind }) => kind)).toEqual(['head', 'bad']);
  });

  it('a quote that is never closed ends the file with its line, for what follows cannot be trusted', async () => {
    await expect(csv('a,b\n1,"open\n2,3\n')).rejects.toThrow('never closed');
  });
});

describe('rowMessage', () => {
  const row = (cells: Record<string, unknown>, names: ColumnNames = contractNames): unknown =>
    JSON.parse(Buffer.from(rowMessage(new Map(Object.entries(cells)), names, 'f.csv', 7)).toString('utf8'));

  it('gives a row without id one from file and line, and leaves empty cells out', () => {
    expect(row({ text: 'x', tenant_id: '' })).toEqual({ chunk_id: 'f.csv#7', document_id: 'f.csv', text: 'x' });
  });

  it('takes the columns that it is told, whole numbers exactly, and the others as metadata', () => {
    const names: ColumnNames = { ...contractNames, id: 'key', text: 'body', metadata: 'all' };
    expect(row({ key: 9_007_199_254_740_993n, body: 'x', lang: 'en', at: new Date(0) }, names)).toEqual({
      chunk_id: '9007199254740993',
      text: 'x',
      metadata: { lang: 'en', at: '1970-01-01T00:00:00.000Z' },
    });
  });
});

describe('packed files', () => {
  const text = Array.from({ length: 300 }, (_, index) => `{"text":"line ${index}"}`).join('\n');

  it('gzip and zstd hold the same lines as the file itself', async () => {
    const plain = await entries(input('x.ndjson', text));
    const gz = await entries({ ...input('x.gz', gzipSync(text), { compression: 'gz' }), name: 'x.ndjson' });
    const zst = await entries({
      ...input('x.zst', storedZstdFrame(Buffer.from(text)), { compression: 'zst' }),
      name: 'x.ndjson',
    });
    expect(gz.map(messageOf)).toEqual(plain.map(messageOf));
    expect(zst.map(messageOf)).toEqual(plain.map(messageOf));
    expect(plain).toHaveLength(300);
  });

  it.each([
    ['gz', gzipSync(text).subarray(0, -12), 'gzip data end in the middle'],
    ['zst', storedZstdFrame(Buffer.from(text)).subarray(0, -12), 'zstd data end in the middle'],
    ['gz', Buffer.from('not packed at all'), 'not valid gzip'],
    ['zst', Buffer.from('not packed at all'), 'not valid zstd'],
  ] as const)('a damaged .%s says what is wrong', async (compression, bytes, says) => {
    const file = input(`cut-${says.length}.${compression}`, bytes, { compression });
    const reading = (async () => {
      for await (const block of openBytes(file).bytes) expect(block.byteLength).toBeGreaterThan(0);
    })();
    expect(readProblem(await reading.catch((error: unknown) => error))).toContain(says);
  });
});

describe('parquet', () => {
  it('rows of several groups, with whole-number ids, in order', async () => {
    const buffer = parquetWriteBuffer({
      columnData: [
        { name: 'id', data: [1n, 2n, 9_007_199_254_740_993n], type: 'INT64' },
        { name: 'text', data: ['one', 'two', 'three'], type: 'STRING' },
        { name: 'unread', data: [1.5, 2.5, 3.5], type: 'DOUBLE' },
      ],
      rowGroupSize: 2,
    });
    const file = input('rows.parquet', new Uint8Array(buffer), { kind: 'parquet' });
    const all = await entries(file, { ...contractNames, id: 'id' });
    expect(all.map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(all.map(messageOf)).toEqual([
      { chunk_id: '1', text: 'one' },
      { chunk_id: '2', text: 'two' },
      { chunk_id: '9007199254740993', text: 'three' },
    ]);
  });

  it('a file that was cut, or is none, says so', async () => {
    const file = input('cut.parquet', 'PAR1 and then nothing of a footer');
    await expect(openParquet(file.path)).rejects.toThrow('footer');
    await expect(openParquet(input('short.parquet', 'PAR1').path)).rejects.toThrow('too short');
    expect(existsSync(file.path)).toBe(true);
  });
});

it('a missing column is told with those that are there', async () => {
  const file = input('c.csv', 'id,body\n1,x\n', { kind: 'csv' });
  await expect(entries(file)).rejects.toThrow('c.csv: no column text; name it with --text-column; there are id, body');
});
