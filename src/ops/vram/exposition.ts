/**
 * The Prometheus text format, read strictly: one line that is none of its lines makes the whole text none of its texts. So
 * a login page or half an answer is never mistaken for "no such series". Pure.
 */
export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** May be NaN or infinite. */
  readonly value: number;
};

const LONGEST_LINE = 16_384;
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|(?=\}))/;
/** A value and, maybe, a time. */
const REST = /^[ \t]+(\S+)(?:[ \t]+-?\d+)?[ \t]*$/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const SPECIAL: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '+inf': Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
};

/** Undefined for what is not in the format. */
export function parseExposition(text: string): Sample[] | undefined {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const sample = trimmed.length > LONGEST_LINE ? undefined : parseSample(trimmed);
    if (sample === undefined) return undefined;
    samples.push(sample);
  }
  return samples;
}

function parseSample(line: string): Sample | undefined {
  const [name] = NAME.exec(line) ?? [];
  if (name === undefined) return undefined;
  const labels: Record<string, string> = Object.create(null);
  let rest = line.slice(name.length);
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    for (let found = LABEL.exec(rest); found !== null; found = LABEL.exec(rest)) {
      labels[found[1]!] = unescaped(found[2]!);
      rest = rest.slice(found[0].length);
    }
    if (!rest.startsWith('}')) return undefined;
    rest = rest.slice(1);
  }
  const [, text] = REST.exec(rest) ?? [];
  const value = text === undefined ? undefined : parseValue(text);
  return value === undefined ? undefined : { name, labels, value };
}

function parseValue(text: string): number | undefined {
  return NUMBER.test(text) ? Number(text) : SPECIAL[text.toLowerCase()];
}

function unescaped(text: string): string {
  return text.replace(/\\(["\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
