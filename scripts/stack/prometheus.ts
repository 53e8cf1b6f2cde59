/**
 * Starts a real Prometheus on 127.0.0.1 with given targets and rules. It is the machine's own: the package `prometheus` of
 * Debian has the server and promtool.
 */
import { cp, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runCommand } from './command.ts';
import { dataFolder } from './data-folder.ts';
import { freePort } from './free-port.ts';
import { type RunningServer, startServer } from './server-process.ts';

export const INSTALL_PROMETHEUS = '"apt-get install -y prometheus" brings prometheus and promtool';

export type PrometheusOptions = {
  /** host:port of what is scraped, by job. */
  readonly targets: Readonly<Record<string, readonly string[]>>;
  readonly ruleFiles?: readonly string[];
  /** Of scraping and of judging the rules; 1 s unless given. */
  readonly intervalSeconds?: number;
  readonly bearerToken?: string;
  readonly externalLabels?: Readonly<Record<string, string>>;
};

export type FiringAlert = {
  readonly name: string;
  readonly state: 'pending' | 'firing';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

export type QueryResult = { readonly labels: Readonly<Record<string, string>>; readonly value: number };

export type RunningPrometheus = RunningServer & {
  readonly url: string;
  /** Throws for an expression that Prometheus does not take. */
  query(expr: string): Promise<readonly QueryResult[]>;
  /** Every sample since the start, at `stepSeconds`; undefined where there is none. */
  history(expr: string, from: number, to: number, stepSeconds: number): Promise<readonly SeriesHistory[]>;
  alerts(): Promise<readonly FiringAlert[]>;
};

export type SeriesHistory = {
  readonly labels: Readonly<Record<string, string>>;
  /** Seconds since the Unix epoch, and the value as text. */
  readonly samples: readonly (readonly [at: number, value: string])[];
};

const ASK_TIMEOUT_MS = 10_000;

export async function startPrometheus(options: PrometheusOptions): Promise<RunningPrometheus> {
  await runCommand('prometheus', ['--version'], { install: INSTALL_PROMETHEUS, timeoutMs: 30_000 });
  const port = await freePort();
  const dataDir = await dataFolder('prometheus', undefined);
  const url = `http://127.0.0.1:${port}`;
  const configFile = join(dataDir, 'prometheus.json');
  const server = await startServer({
    name: 'prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(dataDir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    ports: [port],
    dataDir,
    prepare: async () => {
      for (const file of options.ruleFiles ?? []) await cp(file, join(dataDir, basename(file)));
      // JSON is YAML.
      await writeFile(configFile, JSON.stringify(configuration(options)));
    },
    probe: async () => {
      const response = await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`readiness answers ${response.status}`);
    },
    readyTimeoutMs: 30_000,
    stopTimeoutMs: 10_000,
  });
  const ask = (path: string, parameters: Readonly<Record<string, string>>) =>
    askApi(`${url}/api/v1/${path}`, parameters);
  return Object.assign(server, {
    url,
    query: async (expr: string) => {
      const { result } = (await ask('query', { query: expr })) as {
        result: { metric: Labels; value: [number, string] }[];
      };
      return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    history: async (expr: string, from: number, to: number, stepSeconds: number) => {
      const range = { start: String(from), end: String(to), step: String(stepSeconds) };
      const { result } = (await ask('query_range', { query: expr, ...range })) as {
        result: { metric: Labels; values: [number, string][] }[];
      };
      return result.map(({ metric, values }) => ({ labels: metric, samples: values }));
    },
    alerts: async () => {
      const { alerts } = (await ask('alerts', {})) as { alerts: (Omit<FiringAlert, 'name'> & { labels: Labels })[] };
      return alerts.map(({ state, labels, annotations }) => ({
        name: labels.alertname ?? '',
        state,
        labels,
        annotations,
      }));
    },
  });
}

type Labels = Readonly<Record<string, string>>;

function configuration(options: PrometheusOptions): object {
  const { targets, ruleFiles = [], intervalSeconds = 1, bearerToken, externalLabels = {} } = options;
  const interval = `${intervalSeconds}s`;
  return {
    global: {
      scrape_interval: interval,
      scrape_timeout: interval,
      evaluation_interval: interval,
      external_labels: externalLabels,
    },
    rule_files: ruleFiles.map((file) => basename(file)),
    scrape_configs: Object.entries(targets).map(([job, addresses]) => ({
      job_name: job,
      static_configs: [{ targets: addresses }],
      ...(bearerToken === undefined ? {} : { authorization: { credentials: bearerToken } }),
    })),
  };
}

async function askApi(url: string, parameters: Readonly<Record<string, string>>): Promise<unknown> {
  const response = await fetch(`${url}?${new URLSearchParams(parameters)}`, {
    signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
  });
  const answer = (await response.json()) as { status: string; error?: string; data: unknown };
  if (answer.status !== 'success') throw new Error(`Prometheus: ${answer.error}`);
  return answer.data;
}

/** Runs promtool; throws with what it printed. */
export function promtool(args: readonly string[]): Promise<string> {
  return runCommand('promtool', args, { install: INSTALL_PROMETHEUS, timeoutMs: 60_000 });
}
