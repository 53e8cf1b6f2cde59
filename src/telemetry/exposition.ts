/**
 * The two text forms of /metrics, and which of them a reader asks for. Pure.
 *
 * prom-client writes OpenMetrics only from a registry of that type, and renames the counters of a registry for good when it
 * does. So there is one registry, of the Prometheus type, and OpenMetrics is made from its text.
 */
export type Exposition = { readonly contentType: string; readonly text: string };

const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8';
const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const MOST_RANGES = 16;

/** OpenMetrics where it is named and wanted no less than plain text; a mere wildcard is no request for it. */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  let open = 0;
  let plain = 0;
  for (const range of accept.slice(0, 2_048).split(',').slice(0, MOST_RANGES)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const version = parameters.find((parameter) => parameter.startsWith('version='))?.slice('version='.length);
    const weight = qualityOf(parameters);
    if (
      type === 'application/openmetrics-text' &&
      (version === undefined || version === '1.0.0' || version === '0.0.1')
    )
      open = Math.max(open, weight);
    else if (type === 'text/plain') plain = Math.max(plain, weight);
  }
  return open > 0 && open >= plain;
}

function qualityOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (text === undefined) return 1;
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}

/** `text` as prom-client writes it. */
export function exposition(text: string, accept: string | undefined): Exposition {
  return wantsOpenMetrics(accept)
    ? { contentType: OPENMETRICS, text: toOpenMetrics(text) }
    : { contentType: PROMETHEUS, text };
}

/**
 * Adds a label to every sample. prom-client's own way, default labels, copies the labels of each sample and makes a scrape
 * cost more than twice as much.
 */
export function withLabel(text: string, label: string, value: string): string {
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
  const written = `{${label}="${escaped}"`;
  return text.replace(/^([a-zA-Z_:][\w:]*)([{ ])/gm, (_, name: string, next: string) =>
    next === '{' ? `${name}${written},` : `${name}${written}} `,
  );
}

/**
 * A counter's family has no `_total`, its samples do; quotes in help texts are escaped; no empty lines; an end mark. A
 * counter whose name does not end in `_total` has no form in OpenMetrics and becomes `unknown`.
 */
export function toOpenMetrics(text: string): string {
  const lines = text.split('\n');
  const types = new Map(
    lines.flatMap((line) => {
      const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
      return name === undefined || type === undefined ? [] : [[name, type] as const];
    }),
  );
  const written: string[] = [];
  for (const line of lines) {
    if (line === '') continue;
    const [, word, name, rest] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (word === undefined || name === undefined || rest === undefined) {
      written.push(line);
      continue;
    }
    const isCounter = types.get(name) === 'counter';
    const isProper = isCounter && name.endsWith('_total');
    const family = isProper ? name.slice(0, -'_total'.length) : name;
    const told = word === 'HELP' ? rest.replaceAll('"', '\\"') : isCounter && !isProper ? 'unknown' : rest;
    written.push(`# ${word} ${family} ${told}`);
  }
  return `${written.join('\n')}\n# EOF\n`;
}
