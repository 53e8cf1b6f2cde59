import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { exposition, toOpenMetrics, wantsOpenMetrics, withLabel } from '../../../src/telemetry/exposition.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const PROMETHEUS_ASKS =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

describe('which form a reader asks for', () => {
  const cases: readonly [accept: string | undefined, openMetrics: boolean][] = [
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['text/html,application/xhtml+xml,*/*;q=0.8', false],
    ['text/plain;version=0.0.4', false],
    ['application/openmetrics-text', true],
    ['Application/OpenMetrics-Text; Version=1.0.0', true],
    [PROMETHEUS_ASKS, true],
    ['application/openmetrics-text;q=0.5,text/plain;q=0.9', false],
    ['application/openmetrics-text;q=0', false],
    ['application/openmetrics-text;q=nonsense', false],
    ['application/openmetrics-text;version=9.9.9', false],
    [`${'a/b,'.repeat(10_000)}application/openmetrics-text`, false],
  ];
  for (const [accept, expected] of cases) {
    it(`${String(accept).slice(0, 60)} → ${expected ? 'OpenMetrics' : 'text'}`, () => {
      expect(wantsOpenMetrics(accept)).toBe(expected);
    });
  }
});

describe('OpenMetrics', () => {
  it('is the same numbers under the rules of the other form', async () => {
    const metrics = createMetrics({ pool: 'p', processMetrics: true });
    metrics.chunks.add({ outcome: 'persisted' }, 7);
    const { text } = await metrics.render();
    const open = await metrics.render(PROMETHEUS_ASKS);
    metrics.close();
    expect(open.contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(open.text).toContain('# TYPE rag_serving_chunks counter\n');
    expect(open.text).toContain('rag_serving_chunks_total{pool="p",outcome="persisted"} 7\n');
    expect(open.text.endsWith('\n# EOF\n')).toBe(true);
    expect(open.text).not.toContain('\n\n');
    const namesOf = (all: string) =>
      all
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => line.slice(0, line.lastIndexOf(' ')));
    expect(namesOf(open.text)).toEqual(namesOf(text));
  });

  it('asking for one form does not change the other', async () => {
    const metrics = createMetrics({ pool: 'p' });
    const before = (await metrics.render()).text.split('\n').filter((line) => line.startsWith('# TYPE'));
    await Promise.all([metrics.render(PROMETHEUS_ASKS), metrics.render(), metrics.render(PROMETHEUS_ASKS)]);
    const after = (await metrics.render()).text.split('\n').filter((line) => line.startsWith('# TYPE'));
    metrics.close();
    expect(after).toEqual(before);
  });

  it('quotes in help texts are escaped; a counter without _total has no type there', async () => {
    const registry = new Registry();
    new Counter({ name: 'odd', help: 'says "x" and \\', registers: [registry] });
    const { text } = exposition(await registry.metrics(), 'application/openmetrics-text');
    expect(text).toBe('# HELP odd says \\"x\\" and \\\\\n# TYPE odd unknown\nodd 0\n# EOF\n');
  });

  it('a label is added to samples with and without others, whatever stands in them', () => {
    const text = '# HELP a {x} b\n# TYPE a gauge\na 1\na{b="{ c d"} 2\na_sum{le="+Inf"} 3\n';
    expect(withLabel(text, 'pool', 'p"\\\n')).toBe(
      '# HELP a {x} b\n# TYPE a gauge\na{pool="p\\"\\\\\\n"} 1\na{pool="p\\"\\\\\\n",b="{ c d"} 2\na_sum{pool="p\\"\\\\\\n",le="+Inf"} 3\n',
    );
  });

  it('a label value that looks like a comment stays a value', () => {
    const line = 'a{b="# TYPE a counter"} 1';
    expect(toOpenMetrics(`# HELP a b\n# TYPE a gauge\n${line}\n`)).toContain(`\n${line}\n`);
  });
});
