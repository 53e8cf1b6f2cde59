/** A strict reader of the Prometheus text format: any line it does not understand is an error. */
export type Sample = { name: string; labels: Record<string, string>; value: number };

export function parseExposition(text: string): { samples: Sample[]; types: Map<string, string> } {
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const type = /^# TYPE ([a-z_:][\w:]*) (counter|gauge|histogram|summary)$/.exec(line);
    if (type !== null) types.set(type[1]!, type[2]!);
    if (line.startsWith('#')) {
      if (!/^# (HELP|TYPE) [a-zA-Z_:][\w:]* /.test(line)) throw new Error(`not a comment: ${line}`);
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$/.exec(line);
    if (sample === null) throw new Error(`not a sample: ${line}`);
    const labels: Record<string, string> = {};
    for (const [, name, value] of (sample[2] ?? '').matchAll(/([a-z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name!] = value!.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
    }
    const value = sample[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(sample[3]);
    if (Number.isNaN(value)) throw new Error(`not a number: ${line}`);
    samples.push({ name: sample[1]!, labels, value });
  }
  return { samples, types };
}
