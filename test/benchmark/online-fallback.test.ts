/**
 * What the online module promises in time: a fallback in microseconds, and calls that end by their deadline while the server
 * says nothing. Raw numbers to docs/benchmarks/online-fallback.json.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createOnline } from '../../online/index.ts';
import { inIncomingOrder } from '../../online/rrf.ts';
import { committedPath } from '../../scripts/stack/package-root.ts';
import { transports } from '../contract/infer-transport.ts';
import { candidatesOf, optionsFor } from '../contract/online-contract.ts';
import { endPrograms, startEngine } from '../integration/worker/harness.ts';

const results: Record<string, unknown> = {};
afterEach(() => endPrograms());
afterAll(() => {
  const folder = join(committedPath('docs'), 'benchmarks');
  mkdirSync(folder, { recursive: true });
  const machine = { node: process.version, cores: availableParallelism() };
  writeFileSync(join(folder, 'online-fallback.json'), `${JSON.stringify({ machine, ...results }, null, 1)}\n`);
});

const rounded = (value: number) => Math.round(value * 1_000) / 1_000;
function quantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => rounded(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!);
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: rounded(sorted.at(-1)!) };
}

it('the incoming order of 1,000 candidates', () => {
  const candidates = candidatesOf(Array.from({ length: 1_000 }, (_, index) => `passage ${index}`));
  const micros: number[] = [];
  for (let run = 0; run < 5_000; run++) {
    const startedAt = performance.now();
    inIncomingOrder(candidates, 1_000);
    if (run >= 1_000) micros.push((performance.now() - startedAt) * 1_000);
  }
  const fallback = quantiles(micros);
  results.fallbackMicros = fallback;
  expect(fallback.p50).toBeLessThan(50);
});

describe.each(transports)('%s', (transport) => {
  /**
   * How long after its deadline a call ended; beside it a bare timer of the same time, which shows what of it is the machine's.
   * Each round is a client of its own, for after a few failures its breaker would ask no more.
   */
  it('calls to a frozen server', async () => {
    const engine = await startEngine(['--synthetic']);
    const candidates = candidatesOf(['a', 'b', 'c']);
    const late: number[] = [];
    const timer: number[] = [];
    const beyondTimer: number[] = [];
    const reasons: Record<string, number> = {};
    for (let round = 0; round < 12; round++) {
      const online = await createOnline(optionsFor(engine.target, transport));
      process.kill(engine.program.pid, 'SIGSTOP');
      try {
        const calls = Array.from({ length: 30 }, async (_, index) => {
          const budgetMs = 20 + index;
          const deadline = performance.now() + budgetMs;
          const bare = sleep(budgetMs).then(() => performance.now() - deadline);
          const { degraded = 'none' } = await online.rerank('q', candidates, { deadline });
          const lateMs = performance.now() - deadline;
          late.push(lateMs);
          reasons[degraded] = (reasons[degraded] ?? 0) + 1;
          timer.push(await bare);
          beyondTimer.push(lateMs - (await bare));
        });
        await Promise.all(calls);
      } finally {
        process.kill(engine.program.pid, 'SIGCONT');
        await online.close();
      }
    }
    results[transport] = {
      lateMs: quantiles(late),
      bareTimerLateMs: quantiles(timer),
      beyondTimerMs: quantiles(beyondTimer),
    };
    expect(reasons).toEqual({ deadline: 360 });
  }, 120_000);
});
