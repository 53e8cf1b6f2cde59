/** The alert rules as promtool judges them: a table of cases, and a real run that was recorded (recording.ts). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ingestDashboard } from '../../../scripts/dashboards/ingest.ts';
import { onlineDashboard } from '../../../scripts/dashboards/online.ts';
import { promtool } from '../../../scripts/stack/prometheus.ts';
import type { RecordedSeries } from './recording.ts';
import { ruleCases } from './rule-cases.ts';
import { RULES } from './watched-world.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rag-promtool-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})';

/** Resolves when promtool agrees that after so many minutes just these alerts fire; else its words are the error. */
async function judge(series: readonly RecordedSeries[], fires: Readonly<Record<string, readonly string[]>>, more = {}) {
  const file = join(folder, 'test.json');
  const test = {
    interval: '1m',
    input_series: series,
    promql_expr_test: Object.entries(fires).map(([minute, names]) => ({
      expr: FIRING,
      eval_time: `${minute}m`,
      exp_samples: names.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
    })),
    ...more,
  };
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [test] }));
  await promtool(['test', 'rules', file]);
}

describe('alert rules', () => {
  it('are what promtool takes', async () => {
    expect(await promtool(['check', 'rules', RULES])).toMatch(/SUCCESS/);
  });

  for (const { name, series, fires } of ruleCases) {
    it(name, async () => {
      const input = Object.entries(series).map(([one, values]) => ({ series: one, values }));
      await judge(input, fires);
    });
  }

  it('every rule has a case in which it fires, and one in which it does not', () => {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: { alert: string }[] }[] };
    const firing = new Set(ruleCases.flatMap(({ fires }) => Object.values(fires).flat()));
    expect([...firing].sort()).toEqual(groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)).sort());
  });

  it('a link to a runbook begins with the external label where there is one', async () => {
    const [series] = [{ series: 'up{job="triton",instance="t:8002"}', values: '0x10' }];
    const alert = {
      exp_labels: { severity: 'critical', job: 'triton', instance: 't:8002' },
      exp_annotations: {
        summary: 'Prometheus gets no metrics of triton t:8002',
        description: 'It is gone, unreachable, or asks for another API key.',
      },
    };
    const path = 'docs/runbooks/ingestion-stands-still.md';
    for (const base of [undefined, 'https://wiki.example/rag/']) {
      const runbook_url = `${base ?? ''}${path}`;
      const exp_alerts = [{ ...alert, exp_annotations: { ...alert.exp_annotations, runbook_url } }];
      await judge(
        [series!],
        {},
        {
          ...(base === undefined ? {} : { external_labels: { runbook_base: base } }),
          alert_rule_test: [{ eval_time: '5m', alertname: 'RagServingTargetDown', exp_alerts }],
        },
      );
    }
  });
});

it('a real run: Triton killed with messages to read, back again, then a message that is no chunk', async () => {
  const text = readFileSync(join(import.meta.dirname, '../../support/recorded-series.json'), 'utf8');
  const { seconds, series } = JSON.parse(text) as { seconds: number; series: RecordedSeries[] };
  // A second of the run is a minute of the test: the rules are judged with the times that they are shipped with.
  await judge(series, {
    6: [],
    12: ['RagServingBreakerOpen', 'RagServingTargetDown'],
    16: ['RagServingBreakerOpen', 'RagServingNoProgress', 'RagServingTargetDown'],
    22: ['RagServingThroughputLow'],
    [seconds - 1]: ['RagServingDeadLetters'],
  });
});

it('every expression of the dashboards is PromQL', async () => {
  const expressions = [ingestDashboard, onlineDashboard].flatMap(({ rows }) =>
    rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(([expr]) => expr))),
  );
  const rules = expressions.map((expr, index) => ({
    record: `dashboard:expression${index}`,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.*'),
  }));
  const file = join(folder, 'dashboards.json');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }));
  expect(await promtool(['check', 'rules', file])).toContain(`SUCCESS: ${rules.length} rules found`);
});
