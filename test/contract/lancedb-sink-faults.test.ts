/** What LanceDB on a real folder does when the folder, the disk, another process or time work against it. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { LanceDbSinkOptions } from '../../src/sinks/lancedb/options.ts';
import { createSink } from '../../src/sinks/registry.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { contractOf, rowOf, vectorOf } from './sink-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-lancedb-faults-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function create(options: Partial<LanceDbSinkOptions>): Promise<Sink> {
  const sink = await createSink(
    { name: 'lancedb', options: { uri: folder, table: 'chunks', ...options } },
    silentLog,
    systemClock,
  );
  onTestFinished(() => sink.close());
  return sink;
}

async function open(options: Partial<LanceDbSinkOptions>): Promise<Sink> {
  const sink = await create(options);
  await sink.open(contractOf());
  return sink;
}

function batch(first: number, count = 256) {
  return Array.from({ length: count }, (_, n) => {
    const id = first + n;
    return rowOf(`chunk-${id}`, { offset: BigInt(id), vector: vectorOf([id % 7, id % 11, 1]), text: `text ${id}` });
  });
}

const versionsOf = (table: string) => readdirSync(join(folder, `${table}.lance`, '_versions')).length;
const fragmentsOf = (table: string) => readdirSync(join(folder, `${table}.lance`, 'data')).length;

describe('a folder that cannot be one', () => {
  const cases: { readonly name: string; readonly uri: () => string; readonly code: string }[] = [
    { name: 'a file', uri: () => fileAt('file'), code: 'CONFIG_INVALID' },
    { name: 'a path through a file', uri: () => join(fileAt('file'), 'below'), code: 'CONFIG_INVALID' },
    { name: 'a place where nothing can be made', uri: () => '/proc/rag-serving', code: 'CONFIG_INVALID' },
    { name: 'a folder without write permission', uri: readOnlyFolder, code: 'SINK_ACCESS_DENIED' },
  ];
  for (const { name, uri, code } of cases) {
    it(`${name} is refused at open with its path and setting`, async () => {
      const sink = await create({ uri: uri() });
      await expect(sink.open(contractOf())).rejects.toMatchObject({
        code,
        message: expect.stringMatching(/RAG_SERVING_LANCEDB_PATH/),
      });
    });
  }

  it('a table name that LanceDB would panic on is refused before anything is opened', async () => {
    await expect(create({ table: 'a/b' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('folders on the way are made', async () => {
    const sink = await open({ uri: join(folder, 'one', 'two', 'three') });
    expect(await sink.count()).toBe(0);
  });

  function fileAt(name: string): string {
    writeFileSync(join(folder, name), '');
    return join(folder, name);
  }

  /** Root may write anywhere but into the kernel's own folders. */
  function readOnlyFolder(): string {
    if (process.getuid?.() === 0) return '/sys/rag-serving';
    const path = join(folder, 'read-only');
    mkdirSync(path);
    chmodSync(path, 0o555);
    return path;
  }
});

describe('one writer a table', () => {
  it('a second writer is refused with the cause and the remedy, instead of storing a chunk twice', async () => {
    const [one, two] = [await open({ table: 'shared' }), await open({ table: 'shared' })];
    await one.write(batch(0));
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(two.write(batch(0))).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/takes one writer.*RAG_SERVING_LANCEDB_TABLE/),
      });
    }
    await one.write(batch(128));
    expect(await two.count()).toBe(384);
  });

  it('readers beside the writer see each commit at once', async () => {
    const [writer, reader] = [await open({ table: 'read' }), await open({ table: 'read' })];
    await writer.write(batch(0));
    expect(await reader.count()).toBe(256);
    await writer.write(batch(256));
    expect((await reader.fetch(['chunk-300'])).length).toBe(1);
  });

  it('a table of someone else is refused, and left alone', async () => {
    const lancedb = createRequire(import.meta.url)('@lancedb/lancedb') as typeof import('@lancedb/lancedb');
    const connection = await lancedb.connect(folder);
    await connection.createTable('foreign', [{ id: 1, vector: [1, 2] }]);
    await expect(open({ table: 'foreign' })).rejects.toMatchObject({
      code: 'SINK_SCHEMA_MISMATCH',
      message: expect.stringMatching(/not made by rag-serving.*chunk_id/),
    });
  });
});

describe('many writes', () => {
  it('20,000 rows in concurrent calls: each stored once, bit for bit, with far fewer commits than calls', async () => {
    const sink = await open({ table: 'many', compactAfterCommits: 1_000 });
    const calls = Array.from({ length: 80 }, (_, call) => batch(call * 250, 250));
    const outcomes = await Promise.all(calls.map((rows) => sink.write(rows)));
    expect(outcomes.flat().filter(({ kind }) => kind !== 'stored')).toEqual([]);
    expect(await sink.count()).toBe(20_000);
    expect(versionsOf('many')).toBeLessThan(20);
    const sample = calls.flat().filter((_, index) => index % 37 === 0);
    const stored = await sink.fetch(sample.map((row) => row.chunkId));
    expect(stored).toEqual(sample.map((row) => ({ ...row, fingerprint: 'fp-one' })));
  });

  it('compaction keeps fragments and versions few while writes go on, and loses no row', async () => {
    const sink = await open({ table: 'compact', compactAfterCommits: 8, keepVersionsMs: 0 });
    for (let n = 0; n < 100; n++) await sink.write([...batch(n * 10, 10), rowOf('again', { offset: BigInt(n) })]);
    await expect.poll(() => fragmentsOf('compact'), { timeout: 10_000 }).toBeLessThan(60);
    expect(versionsOf('compact')).toBeLessThan(60);
    expect(await sink.count()).toBe(1_001);
    expect((await sink.fetch(['again', 'chunk-0', 'chunk-999'])).map((row) => row.source.offset)).toEqual([
      99n,
      0n,
      999n,
    ]);
  });

  it('close waits for the writes under way', async () => {
    const sink = await open({ table: 'closing' });
    const writes = [sink.write(batch(0)), sink.write(batch(256)), sink.write(batch(512))];
    await sink.close();
    await Promise.all(writes);
    expect(await (await open({ table: 'closing' })).count()).toBe(768);
  });
});

const mayMount = process.platform === 'linux' && process.getuid?.() === 0 && tryMount();

describe.runIf(mayMount)('a full disk', () => {
  it('is an outage that says so; the rows written before stay, and work goes on when there is room', async () => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]);
    onTestFinished(() => void execFileSync('umount', ['-l', disk]));
    const sink = await open({ uri: disk, compactAfterCommits: 1_000 });
    let stored = 0;
    const fill = async () => {
      for (; ; stored += 256) await sink.write(batch(stored));
    };
    await expect(fill()).rejects.toMatchObject({ code: 'SINK_FULL', failureClass: 'outage' });
    expect(await sink.count()).toBe(stored);
    execFileSync('mount', ['-o', 'remount,size=16m', disk]);
    await sink.write(batch(stored));
    expect(await sink.count()).toBe(stored + 256);
  });
});

function tryMount(): boolean {
  const probe = join(folder, 'probe');
  mkdirSync(probe);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', probe], { stdio: 'ignore' });
    execFileSync('umount', [probe]);
    return true;
  } catch {
    return false;
  }
}
