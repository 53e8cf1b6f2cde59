/** 100,000 lines, one in a hundred bad, and `rag-serving ingest` killed twice on its way: nothing is lost, doubled or miscounted. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Program } from '../../../scripts/stack/program.ts';
import { endPrograms, eventually, startEngine } from '../worker/harness.ts';
import { contractOf, readStored } from '../worker/stored.ts';

const LINES = 100_000;
const BAD_EVERY = 100;
const folder = mkdtempSync(join(tmpdir(), 'rag-ingest-'));

afterEach(async () => {
  await endPrograms();
  rmSync(folder, { recursive: true, force: true });
});

function doneIn(state: string): number {
  const path = join(state, 'checkpoint.json');
  if (!existsSync(path)) return 0;
  const { marks } = JSON.parse(readFileSync(path, 'utf8')) as { marks: { tally: { entries: number } }[] };
  return marks.reduce((sum, { tally }) => sum + tally.entries, 0);
}

it('100,000 lines with bad ones, killed twice: every good line is stored once, every bad one told once', async () => {
  const file = join(folder, 'docs.ndjson');
  const good: string[] = [];
  const lines = Array.from({ length: LINES }, (_, index) => {
    if ((index + 1) % BAD_EVERY === 0) return `{"chunk_id":"c${index}","text":`;
    good.push(`c${index}`);
    return JSON.stringify({ chunk_id: `c${index}`, document_id: `d${index % 500}`, text: `text number ${index}` });
  });
  writeFileSync(file, lines.join('\n'));
  const engine = await startEngine(['--synthetic', '--dims', '32']);
  const lance = join(folder, 'lancedb');
  const state = join(folder, 'state');
  const rejects = join(folder, 'rejects.ndjson');
  const ingest = () =>
    new Program(['ingest', file, '--state', state, '--rejects', rejects, '--json'], {
      RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target,
      RAG_SERVING_LANCEDB_PATH: lance,
    });
  for (const share of [0.25, 0.6]) {
    const run = ingest();
    await eventually(`a checkpoint beyond ${share}`, () => doneIn(state) > LINES * share, 120_000);
    await run.kill();
  }
  const before = doneIn(state);
  const last = ingest();
  const summary = await last.line(({ end }) => end !== undefined, 120_000);
  expect((await last.exited).code).toBe(1);

  const bad = LINES / BAD_EVERY;
  expect(summary).toMatchObject({
    end: 'done',
    filesDone: 1,
    entries: LINES,
    stored: LINES - bad,
    superseded: 0,
    rejected: bad,
    rejectedByCode: { CHUNK_INVALID: bad },
  });
  // What earlier runs did was not done again.
  expect(before).toBeLessThan(LINES);
  expect(Number(summary.storedBefore)).toBeGreaterThan(LINES * 0.5);
  const told = readFileSync(rejects, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { line: number });
  expect(told.map(({ line }) => line).sort((a, b) => a - b)).toEqual(
    Array.from({ length: bad }, (_, index) => (index + 1) * BAD_EVERY),
  );
  expect(existsSync(join(state, 'checkpoint.json'))).toBe(false);

  const found = new Set<string>();
  const choice = { name: 'lancedb', options: { uri: lance, table: 'chunks' } } as const;
  const count = await readStored(choice, await contractOf(engine.target), good, (rows) => {
    for (const { chunkId } of rows) found.add(chunkId);
  });
  expect([count, found.size]).toEqual([good.length, good.length]);
}, 300_000);
