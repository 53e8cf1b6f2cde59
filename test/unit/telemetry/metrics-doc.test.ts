/** The table of metrics: what is written of it, and the rules that names follow. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderMetricsDoc } from '../../../scripts/docs/metrics-doc.ts';
import { allCombinations } from '../../../src/telemetry/label-bounds.ts';
import { type MetricSpec, PREFIX } from '../../../src/telemetry/metric-spec.ts';
import { workerMetrics } from '../../../src/telemetry/metric-table.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { onlineMetrics } from '../../../src/telemetry/online-metric-table.ts';
import { parseExposition } from '../../support/exposition.ts';

const specs: readonly MetricSpec[] = [...Object.values(workerMetrics), ...Object.values(onlineMetrics)];

it('docs/metrics.md is what the tables give (make docs writes it)', async () => {
  await expect(renderMetricsDoc()).toMatchFileSnapshot(join(import.meta.dirname, '../../../docs/metrics.md'));
});

it('names are unique, counters end in _total and nothing else does, and the unit is in the name', () => {
  const names = specs.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, type, unit } of specs) {
    expect(name).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*$/);
    expect(name.endsWith('_total'), name).toBe(type === 'counter');
    expect(name, 'base units only').not.toMatch(/milliseconds|_ms\b|_kb|_mb|percent/);
    for (const base of ['seconds', 'bytes', 'ratio']) if (unit === base) expect(name).toMatch(new RegExp(`_${base}$`));
  }
});

it('no label has a name that Prometheus keeps for itself, and buckets rise', () => {
  for (const spec of specs) {
    for (const label of Object.keys(spec.labels)) expect(label).not.toMatch(/^(le|quantile|job|instance|__.*)$/);
    if (spec.type === 'histogram') expect([...spec.buckets].sort((a, b) => a - b)).toEqual(spec.buckets);
  }
});

it('what is shown is what the table has: each name with its type and help', async () => {
  const metrics = createMetrics({ pool: 'test' });
  const { text } = await metrics.render();
  metrics.close();
  const { types } = parseExposition(text);
  expect([...types]).toEqual(Object.values(workerMetrics).map(({ name, type }) => [PREFIX + name, type]));
  for (const { name, help } of Object.values(workerMetrics))
    expect(text).toContain(`# HELP ${PREFIX}${name} ${help}\n`);
});

it('every closed list of labels is finite and small enough to be shown whole', () => {
  for (const spec of specs) {
    const closed = Object.values(spec.labels).every((rule) => !('atMost' in rule));
    if (closed) expect(allCombinations(spec.labels, 1_000)?.length, spec.name).toBeLessThan(1_000);
  }
});
