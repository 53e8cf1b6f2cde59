/** `rag-serving ingest` as a person runs it: on a bare machine, interrupted, twice at once, over a file that has changed. */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Program } from '../../../scripts/stack/program.ts';
import { endPrograms, eventually, startEngine } from '../worker/harness.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-ingest-'));
});
afterEach(async () => {
  await endPrograms();
  rmSync(folder, { recursive: true, force: true });
});

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => JSON.stringify({ chunk_id: `c${index}`, text: `text ${index}` })).join(
    '\n',
  );

function ingest(args: readonly string[], env: Record<string, string> = {}): Program {
  return new Program(['ingest', ...args, '--state', join(folder, 'state'), '--base', folder, '--json'], {
    RAG_SERVING_LANCEDB_PATH: join(folder, 'lancedb'),
    ...env,
  });
}

it('with no server at all: a small real model inside the process, vectors in LanceDB', async () => {
  mkdirSync(join(folder, 'docs'));
  writeFileSync(join(folder, 'docs', 'a.md'), '# Title\n\nA sentence about ships. Another one about harbours.');
  writeFileSync(join(folder, 'docs', 'b.csv'), 'text,lang\nA sentence about trains.,en\n');
  const run = ingest([join(folder, 'docs'), '--metadata-columns', 'lang', '--engine', 'embedded']);
  const summary = await run.line(({ end }) => end !== undefined, 120_000);
  expect(summary).toMatchObject({ end: 'done', files: 2, filesDone: 2, stored: 2, rejected: 0 });
  expect((await run.exited).code).toBe(0);
});

it('interrupted: says 3 and leaves a checkpoint, refuses a second run beside it and a changed file, and goes on', async () => {
  const engine = await startEngine(['--synthetic', '--dims', '32', '--batch-ms', '400']);
  const env = { RAG_SERVING_BATCH_INGEST_GRPC_URL: engine.target };
  const file = join(folder, 'docs.ndjson');
  writeFileSync(file, lines(20_000));
  const checkpoint = () => readFileSync(join(folder, 'state', 'checkpoint.json'), 'utf8');
  const first = ingest([file], env);
  await eventually('a checkpoint that tells of stored chunks', () => /"stored":[1-9]/.test(checkpoint()));
  const beside = ingest([file], env);
  expect((await beside.exited).code).toBe(1);
  expect(beside.output).toContain('another ingest holds');
  expect((await first.stop('SIGINT')).code).toBe(3);
  expect(first.lines.find(({ end }) => end !== undefined)).toMatchObject({ end: 'interrupted' });

  const whole = readFileSync(file);
  appendFileSync(file, '\n{"text":"one more"}');
  const changed = ingest([file], env);
  expect((await changed.exited).code).toBe(2);
  expect(changed.output).toContain('--restart');
  writeFileSync(file, whole);
  // Written again it has another time of change, so it counts as changed: begin again.
  const again = ingest([file, '--restart', '--limit', '3000'], env);
  const summary = await again.line(({ end }) => end !== undefined, 120_000);
  expect(summary).toMatchObject({ end: 'limit', storedBefore: 0, stored: 3_000 });
  const next = ingest([file, '--limit', '500'], env);
  expect(await next.line(({ end }) => end !== undefined, 120_000)).toMatchObject({
    stored: 3_500,
    storedBefore: 3_000,
  });
});
