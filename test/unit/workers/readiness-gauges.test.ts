import { expect, it } from 'vitest';
import { vramStates } from '../../../src/lifecycle/health-states.ts';
import type { Check } from '../../../src/ops/readiness.ts';
import type { VramStatus } from '../../../src/ops/status-schema.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { watchReadiness } from '../../../workers/readiness-gauges.ts';
import { parseExposition } from '../../support/exposition.ts';
import { sampleStatus } from '../ops/ops-fixture.ts';

it('checks and GPU memory are shown as they are at the scrape; what is no longer known is no longer shown', async () => {
  const metrics = createMetrics({ pool: 'p' });
  const check = (state: Check['state']): Check => ({ name: 'triton', state, reason: undefined, sinceMs: 0 });
  let checks: readonly Check[] = [check('pass')];
  let vram: VramStatus | null = null;
  watchReadiness(
    metrics,
    () => checks,
    () => vram,
  );
  const samples = async (name: string) =>
    parseExposition((await metrics.render()).text).samples.filter((one) => one.name === `rag_serving_${name}`);
  const on = async (name: string) =>
    (await samples(name)).filter(({ value }) => value === 1).map(({ labels }) => labels.state);

  expect(await on('check_state')).toEqual(['pass']);
  expect(await samples('vram_state')).toEqual([]);
  const sample = sampleStatus().vram!;
  for (const state of vramStates) {
    vram = { ...sample, state };
    expect(await on('vram_state')).toEqual([state]);
  }
  expect((await samples('vram_utilization_ratio')).map(({ value }) => value)).toEqual([sample.utilization]);
  expect((await samples('vram_static_bytes')).map(({ value }) => value)).toEqual([sample.staticBytes]);

  checks = [check('fail')];
  vram = { ...sample, state: 'unreachable', utilization: null, staticBytes: null };
  expect(await on('check_state')).toEqual(['fail']);
  expect(await samples('vram_utilization_ratio')).toEqual([]);
  expect(await samples('vram_static_bytes')).toEqual([]);
  metrics.close();
});
