/** The vector index of a real LanceDB: built beside the writes, used, kept up, and nothing lost when its process is killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { LanceDbSinkOptions } from '../../src/sinks/lancedb/options.ts';
import type { TableCondition } from '../../src/sinks/observer.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { contractOf, DIMS, rowOf, vectorOf } from './sink-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'rag-lancedb-index-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function open(table: string, options: Partial<LanceDbSinkOptions>) {
  const conditions: TableCondition[] = [];
  const observer = { called: () => {}, tableIs: (condition: TableCondition) => void conditions.push(condition) };
  const choice = { name: 'lancedb', options: { uri: folder, table, compactAfterCommits: 4, ...options } } as const;
  const sink = await createSink(choice, silentLog, systemClock, observer);
  onTestFinished(() => sink.close());
  await sink.open(contractOf());
  return { sink, conditions };
}

/** Directions that differ: element 0 and 1 go round a circle, the rest is a little noise that the number decides. */
function directionOf(n: number): number[] {
  return Array.from({ length: DIMS }, (_, at) =>
    at === 0 ? Math.cos(n / 100) : at === 1 ? Math.sin(n / 100) : ((n * (at + 7)) % 13) / 60,
  );
}

function batch(first: number, count = 200) {
  return Array.from({ length: count }, (_, n) =>
    rowOf(`c${first + n}`, { offset: BigInt(first + n), vector: vectorOf(directionOf(first + n)) }),
  );
}

for (const index of ['ivf_flat', 'ivf_hnsw_sq', 'ivf_pq'] as const) {
  it(`${index}: is built when there are enough rows, finds rows old and new, and new rows are folded in`, async () => {
    const { sink, conditions } = await open(index, { index, indexMinRows: 600, maintenanceIntervalMs: 300 });
    for (let n = 0; n < 5; n++) await sink.write(batch(n * 200));
    await expect.poll(() => conditions.at(-1), { timeout: 50_000 }).toMatchObject({ rows: 1_000, unindexedRows: 0 });
    await sink.write(batch(1_000, 50));
    for (const n of [17, 480, 1_030]) {
      const [hit] = await sink.search(Float32Array.from(directionOf(n)), 1);
      expect(hit?.chunkId).toBe(`c${n}`);
      expect(hit?.score).toBeCloseTo(1, 2);
    }
    await expect.poll(() => conditions.at(-1), { timeout: 50_000 }).toMatchObject({ rows: 1_050, unindexedRows: 0 });
    expect(conditions.at(-1)?.lastCompactionSeconds).toBeGreaterThan(0);
    await sink.close();
    const reader = await createSink(
      { name: 'lancedb', options: { uri: folder, table: index } },
      silentLog,
      systemClock,
    );
    onTestFinished(() => reader.close());
    expect(await reader.inspect()).toMatchObject({ rows: 1_050, index: expect.stringMatching(/^Ivf.* index/) });
    expect((await reader.search(Float32Array.from(directionOf(480)), 1))[0]?.chunkId).toBe('c480');
  }, 120_000);
}

it('writes and deletions go on while compactions and a build run, and each row is there once', async () => {
  const { sink, conditions } = await open('busy', { index: 'ivf_hnsw_sq', indexMinRows: 256, writeTimeoutMs: 6_000 });
  for (let n = 0; n < 40; n++) await sink.write([...batch(n * 50, 100), rowOf('again', { offset: BigInt(n) })]);
  expect(await sink.count()).toBe(40 * 50 + 50 + 1);
  const ids = Array.from({ length: 2_050 }, (_, n) => `c${n}`);
  expect((await sink.fetch(ids)).length).toBe(2_050);
  expect((await sink.fetch(['again']))[0]?.source.offset).toBe(39n);
  expect(conditions.length).toBeGreaterThan(1);
}, 120_000);
