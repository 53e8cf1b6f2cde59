/** The table of faults says which test shows each row: those tests must be there, and its names must be the code's. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { errorCodes } from '../../src/errors.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const root = join(import.meta.dirname, '../..');
const rows = readFileSync(join(root, 'docs/faults.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| fault') && !line.startsWith('| ---'))
  .map((line) => line.slice(2, -2).split(' | '));
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

it('every row of the table of faults names tests that are there', () => {
  expect(rows.length).toBeGreaterThan(25);
  const missing = rows.flatMap((cells) => {
    expect(cells, cells[0]).toHaveLength(5);
    const files = quoted(cells[4]!).map((name) =>
      name.startsWith('test/') ? name : `test/integration/worker/${name}`,
    );
    return files.filter((file) => !existsSync(join(root, file)) && !existsSync(join(root, `${file}.test.ts`)));
  });
  expect(missing).toEqual([]);
});

it('what the table of faults says you see is called so', async () => {
  const metrics = createMetrics({ pool: 'test' });
  const { text } = await metrics.render();
  metrics.close();
  const words = rows.flatMap((cells) => quoted(cells.slice(1, 4).join(' ')));
  const codes = words.flatMap((word) => /^([A-Z]+(?:_[A-Z]+)+)$|code="([A-Z_]+)"/.exec(word)?.slice(1) ?? []);
  const known: readonly (string | undefined)[] = [
    ...errorCodes,
    'RAG_SERVING_WORKER_ID',
    'KAFKA_REBALANCE_HOLD_MS',
    undefined,
  ];
  expect(codes.filter((code) => !known.includes(code))).toEqual([]);
  const series = words
    .filter((word) => /^[a-z]+(_[a-z]+)+(\{.*\})?$/.test(word))
    .map((word) => word.replace(/\{.*/, ''));
  expect(series.length).toBeGreaterThan(10);
  expect(series.filter((name) => !text.includes(`# TYPE rag_serving_${name} `))).toEqual([]);
});
