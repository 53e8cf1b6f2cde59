/**
 * Grafana dashboards as rows of panels, written out as the JSON that Grafana imports. Pure.
 *
 * Panels flow from left to right, 24 columns a line. The datasource and the job are variables: a dashboard knows no Grafana
 * but the one that it is imported into.
 */
export type Unit = 'short' | 's' | 'bytes' | 'percentunit' | 'cps' | 'reqps' | 'µs' | 'bool' | 'none';

export type PanelSpec = {
  readonly title: string;
  /** What to look for. */
  readonly description: string;
  readonly unit: Unit;
  /** Expression and legend. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
  /** A graph unless given. `stat` is one number, `table` the newest value of each series. */
  readonly kind?: 'graph' | 'stat' | 'table';
  readonly width?: number;
  readonly stacked?: boolean;
  /** From here on it is drawn as wrong. */
  readonly alarmAt?: number;
};

export type RowSpec = { readonly title: string; readonly panels: readonly PanelSpec[] };

export type DashboardSpec = {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** A metric whose jobs are offered for choice. */
  readonly jobsOf: string;
  readonly rows: readonly RowSpec[];
};

const COLUMNS = 24;
const HEIGHT = { graph: 8, stat: 4, table: 8 } as const;
const WIDTH = { graph: 8, stat: 4, table: 8 } as const;
const DATASOURCE = { type: 'prometheus', uid: '$datasource' } as const;
const TYPES = { graph: 'timeseries', stat: 'stat', table: 'table' } as const;

export function renderDashboard(spec: DashboardSpec): string {
  return `${JSON.stringify(dashboard(spec), undefined, 2)}\n`;
}

function dashboard({ uid, title, description, jobsOf, rows }: DashboardSpec): object {
  return {
    uid,
    title,
    description,
    tags: ['rag-serving'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    templating: {
      list: [
        { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus', current: {} },
        {
          name: 'job',
          label: 'Job',
          type: 'query',
          datasource: DATASOURCE,
          query: { query: `label_values(${jobsOf}, job)`, refId: 'jobs' },
          refresh: 2,
          multi: true,
          includeAll: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels: placed(rows),
  };
}

function placed(rows: readonly RowSpec[]): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const spec of row.panels) {
      const kind = spec.kind ?? 'graph';
      const size = { w: spec.width ?? WIDTH[kind], h: HEIGHT[kind] };
      if (x + size.w > COLUMNS) {
        x = 0;
        y += lineHeight;
        lineHeight = 0;
      }
      panels.push(panel(panels.length + 1, spec, { x, y, ...size }));
      x += size.w;
      lineHeight = Math.max(lineHeight, size.h);
    }
    y += lineHeight;
  }
  return panels;
}

function panel(id: number, spec: PanelSpec, gridPos: object): object {
  const { title, description, unit, queries, kind = 'graph', stacked = false, alarmAt } = spec;
  const steps = [{ color: 'green', value: null }, ...(alarmAt === undefined ? [] : [{ color: 'red', value: alarmAt }])];
  const custom =
    kind === 'graph' ? { fillOpacity: stacked ? 30 : 0, stacking: { mode: stacked ? 'normal' : 'none' } } : {};
  return {
    id,
    type: TYPES[kind],
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, custom, thresholds: { mode: 'absolute', steps } }, overrides: [] },
    options: kind === 'stat' ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value' } : {},
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat,
      ...(kind === 'table' ? { instant: true, range: false, format: 'table' } : { range: true }),
    })),
  };
}
