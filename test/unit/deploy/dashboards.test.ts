/** Dashboards and alerts name only what exists, and have the form that Grafana and Prometheus expect. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type DashboardSpec, renderDashboard } from '../../../scripts/dashboards/dashboard.ts';
import { ingestDashboard } from '../../../scripts/dashboards/ingest.ts';
import { onlineDashboard } from '../../../scripts/dashboards/online.ts';
import { allSettings } from '../../../src/config/catalogue.ts';
import { errorCodes } from '../../../src/errors.ts';
import { type MetricSpec, PREFIX } from '../../../src/telemetry/metric-spec.ts';
import { workerMetrics } from '../../../src/telemetry/metric-table.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { onlineMetrics } from '../../../src/telemetry/online-metric-table.ts';
import { parseExposition } from '../../support/exposition.ts';
import { familyOf, matchersIn, metricsIn } from '../../support/promql.ts';
import { TRITON_METRICS } from '../../support/triton-metrics.ts';

const root = join(import.meta.dirname, '../../..');
const specs = new Map<string, MetricSpec>(
  [...Object.values(workerMetrics), ...Object.values(onlineMetrics)].map((spec) => [PREFIX + spec.name, spec]),
);

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};
const ruleFiles = readdirSync(join(root, 'deploy/alerts')).filter((name) => /rules.*\.ya?ml$/.test(name));
const rules = ruleFiles.flatMap((name) => {
  const { groups } = parse(readFileSync(join(root, 'deploy/alerts', name), 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
});

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly datasource: { uid: string } }[];
};
type Dashboard = {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
};
const dashboards: readonly (readonly [file: string, spec: DashboardSpec])[] = [
  ['ingest.json', ingestDashboard],
  ['online.json', onlineDashboard],
];
const rendered = dashboards.map(([file, spec]) => [file, JSON.parse(renderDashboard(spec)) as Dashboard] as const);

async function processMetrics(): Promise<readonly string[]> {
  const metrics = createMetrics({ pool: 'p', processMetrics: true });
  const { text } = await metrics.render();
  metrics.close();
  return [...parseExposition(text).types.keys()];
}

async function unknownNames(expressions: readonly string[]): Promise<readonly string[]> {
  const known = new Set([...specs.keys(), ...(await processMetrics()), ...TRITON_METRICS, 'up']);
  return expressions.flatMap(metricsIn).filter((name) => !known.has(name) && !known.has(familyOf(name)));
}

/** Label names and values that no series can have. */
function impossible(expressions: readonly string[]): readonly string[] {
  return expressions.flatMap(matchersIn).flatMap(({ metric, label, op, value }) => {
    const rule = specs.get(metric)?.labels[label] ?? specs.get(familyOf(metric))?.labels[label];
    if (rule === undefined) {
      const isOurs = specs.has(metric) || specs.has(familyOf(metric));
      return isOurs && !['job', 'instance', 'pool', 'le'].includes(label) ? [`${metric}{${label}}`] : [];
    }
    if ('atMost' in rule) return [];
    const wanted = op.includes('~') ? value.split('|') : [value];
    return wanted.filter((one) => !rule.includes(one)).map((one) => `${metric}{${label}="${one}"}`);
  });
}

describe('dashboards', () => {
  for (const [file, spec] of dashboards) {
    it(`${file} is what scripts/dashboards gives (make docs writes it)`, async () => {
      await expect(renderDashboard(spec)).toMatchFileSnapshot(join(root, 'deploy/dashboards', file));
    });
  }

  it('all that is in the folder is written from there', () => {
    expect(readdirSync(join(root, 'deploy/dashboards')).sort()).toEqual(dashboards.map(([file]) => file).sort());
  });

  it('have what Grafana asks for: uid, schema, ids, places that do not overlap, datasource variable, units', () => {
    expect(new Set(rendered.map(([, { uid }]) => uid)).size).toBe(rendered.length);
    for (const [file, { uid, title, schemaVersion, panels, templating }] of rendered) {
      expect(uid, file).toMatch(/^[a-z0-9-]{1,40}$/);
      expect(title.length).toBeGreaterThan(5);
      expect(schemaVersion).toBeGreaterThanOrEqual(36);
      expect(templating.list.map(({ name, type }) => `${name}:${type}`)).toEqual([
        'datasource:datasource',
        'job:query',
      ]);
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      const taken = new Set<string>();
      for (const { title: name, type, gridPos, datasource, fieldConfig, targets, description } of panels) {
        expect(gridPos.x + gridPos.w, name).toBeLessThanOrEqual(24);
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
            expect(taken.has(`${x},${y}`), `${file}: ${name} overlaps`).toBe(false);
            taken.add(`${x},${y}`);
          }
        }
        if (type === 'row') continue;
        expect(['timeseries', 'stat', 'table']).toContain(type);
        expect(description, name).toMatch(/\.$/);
        expect(datasource?.uid).toBe('$datasource');
        expect(fieldConfig?.defaults.unit, name).toMatch(/\S/);
        expect(targets?.length, name).toBeGreaterThan(0);
        for (const target of targets ?? []) expect(target.datasource.uid).toBe('$datasource');
        expect(new Set(targets?.map(({ refId }) => refId)).size).toBe(targets?.length);
      }
    }
  });

  it('ask only for metrics, labels and values that exist', async () => {
    const expressions = rendered.flatMap(([, { panels }]) =>
      panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr),
    );
    expect(expressions.length).toBeGreaterThan(50);
    expect(await unknownNames(expressions)).toEqual([]);
    expect(impossible(expressions)).toEqual([]);
  });

  it('show every metric of the table, or there is a reason', () => {
    const expressions = rendered.flatMap(([, { panels }]) =>
      panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr),
    );
    const shown = new Set(expressions.flatMap(metricsIn).map(familyOf));
    const unseen = [...specs.keys()].filter((name) => !shown.has(name) && !shown.has(familyOf(name)));
    expect(unseen.sort()).toEqual([
      // For the log and the runbooks.
      'rag_serving_assigned_partitions',
      'rag_serving_assignment_epoch',
      'rag_serving_drain_abandoned_chunks',
      'rag_serving_in_flight_bytes',
      // Of a choice of store: docs/sinks says what to look at.
      'rag_serving_lancedb_compaction_seconds',
      'rag_serving_lancedb_fragments',
      'rag_serving_lancedb_unindexed_rows',
      'rag_serving_lancedb_versions',
      'rag_serving_offset_resets_total',
      'rag_serving_retry_messages_gone_total',
      'rag_serving_store_call_duration_seconds',
      'rag_serving_store_rows_total',
      'rag_serving_telemetry_dropped_values_total',
    ]);
  });
});

describe('alerts', () => {
  it('ask only for metrics, labels and values that exist', async () => {
    const expressions = rules.map(({ expr }) => expr);
    expect(await unknownNames(expressions)).toEqual([]);
    expect(impossible(expressions)).toEqual([]);
  });

  it('have a severity, tell a person what is wrong, and link to a runbook that is there', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^RagServing[A-Za-z]+$/);
      expect(labels.severity, alert).toMatch(/^(warning|critical)$/);
      for (const name of ['summary', 'description']) expect(annotations[name], alert).toMatch(/\S{3}/);
      const path = /^\{\{ \$externalLabels\.runbook_base \}\}(docs\/runbooks\/[a-z-]+\.md)$/.exec(
        annotations.runbook_url!,
      )?.[1];
      expect(path, alert).toBeDefined();
      const text = readFileSync(join(root, path!), 'utf8');
      expect(text, `${path} says what to do about ${alert}`).toContain(alert);
    }
  });
});

describe('runbooks', () => {
  const names = readdirSync(join(root, 'docs/runbooks'));
  const text = names.map((name) => readFileSync(join(root, 'docs/runbooks', name), 'utf8')).join('\n');

  it('name only settings that exist', () => {
    const settings = allSettings.map(({ name }) => name);
    const named = new Set([...text.matchAll(/\b(?:RAG_SERVING|KAFKA)_[A-Z_]+\b/g)].map(([name]) => name));
    const codes: readonly string[] = errorCodes;
    expect([...named].filter((name) => !settings.includes(name) && !codes.includes(name))).toEqual([]);
  });

  it('name only metrics that exist', async () => {
    const unknown = await unknownNames([text.replaceAll('"', ' ')]);
    // Patterns of grep name the beginnings of several.
    const isBeginning = (name: string) => [...specs.keys(), ...TRITON_METRICS].some((one) => one.startsWith(name));
    expect(unknown.filter((name) => !isBeginning(name))).toEqual([]);
  });

  it('name only alerts that exist', () => {
    const alerts = rules.map(({ alert }) => alert);
    const named = [...text.matchAll(/\bRagServing[A-Za-z]+/g)].map(([name]) => name);
    expect(named.filter((name) => !alerts.includes(name))).toEqual([]);
  });
});
