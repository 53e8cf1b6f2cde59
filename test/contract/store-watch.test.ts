/** What readiness and metrics say of each of several stores, with a real Redis that goes away beside a real LanceDB. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { SinkConfig } from '../../src/config/sections/sink.ts';
import { CheckBoard } from '../../src/ops/readiness.ts';
import { createSink } from '../../src/sinks/registry.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { storeChecks, watchStores } from '../../workers/worker/store-watch.ts';
import { useRedis } from '../support/stack.ts';
import { contractOf, rowOf } from './sink-rows.ts';

const redis = useRedis({ appendonly: true });

it('the one that is away is named, the other is well, and both count their own rows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rag-store-watch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // Only the kinds are read from it.
  const config = { kind: 'fan-out', members: [{ kind: 'lancedb' }, { kind: 'redis' }] } as unknown as SinkConfig;
  expect(storeChecks(config)).toEqual(['store-lancedb', 'store-redis']);
  const board = new CheckBoard(storeChecks(config), 0);
  const metrics = createMetrics({ pool: 'test' });
  onTestFinished(() => metrics.close());
  const limits = { connectTimeoutMs: 1_500, closeTimeoutMs: 500 };
  const members = [
    { name: 'lancedb', options: { uri: folder, table: 'watched' } },
    { name: 'redis', options: { url: redis().url, keyPrefix: 'watched:', ...limits } },
  ] as const;
  const observer = watchStores(config, board, metrics, () => 1);
  const sink = await createSink({ name: 'fan-out', members }, silentLog, systemClock, observer);
  onTestFinished(() => sink.close());
  await sink.open(contractOf());
  const states = () => Object.fromEntries(board.checks.map(({ name, state }) => [name, state]));
  expect(states()).toEqual({ 'store-lancedb': 'pass', 'store-redis': 'pass' });
  await redis().kill('SIGKILL');
  await expect(sink.write([rowOf('a'), rowOf('b')])).rejects.toMatchObject({ failureClass: 'outage' });
  expect(states()).toEqual({ 'store-lancedb': 'pass', 'store-redis': 'fail' });
  await redis().restart();
  const write = () =>
    sink.write([rowOf('a'), rowOf('b')]).then(
      ({ length }) => length,
      () => 0,
    );
  await expect.poll(write, { timeout: 10_000 }).toBe(2);
  expect(states()).toEqual({ 'store-lancedb': 'pass', 'store-redis': 'pass' });
  const { text: body } = await metrics.render();
  expect(body).toMatch(/rag_serving_store_rows_total\{[^}]*store="redis",outcome="stored"[^}]*\} 2\n/);
  expect(body).toMatch(
    /rag_serving_store_call_duration_seconds_count\{[^}]*store="redis",operation="write",result="failed"[^}]*\} [1-9]/,
  );
  expect(body).toMatch(/rag_serving_lancedb_fragments\{/);
});
