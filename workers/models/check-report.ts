/** The report of a check as a person reads it: the verdict first, then the numbers, then a table of the rows. Pure. */
import type { Finding } from '../../src/golden/findings.ts';
import type { Golden } from '../../src/golden/golden-file.ts';
import type { CheckReport, Latency } from '../../src/golden/verdict.ts';

const VERDICTS = { equal: 'equal', differs: 'DIFFERS', unchecked: 'could not be checked' } as const;
const REASONS_SHOWN = 10;
const TEXT_SHOWN = 60;

export function reportLines(
  report: CheckReport,
  golden: Golden,
  { showText = false }: { readonly showText?: boolean },
): string[] {
  const { model, target, outcome, reasons, notes, rows } = report;
  const left = reasons.length - REASONS_SHOWN;
  return [
    `${model} at ${target}: ${VERDICTS[outcome]}`,
    ...reasons.slice(0, REASONS_SHOWN).map((reason) => `  ${reason}`),
    ...(left > 0 ? [`  and ${left} more`] : []),
    ...notes.map((note) => `note: ${note}`),
    ...(golden.producer.kind === 'endpoint'
      ? ['note: the golden vectors come from a live endpoint: equal means unchanged, not right']
      : []),
    ...(rows.length === 0 ? [] : numbers(report)),
    ...(rows.some(({ answers }) => answers > 0) ? table(report, golden, showText) : []),
  ];
}

function numbers({ fingerprint, dims, dtype, bounds, worst, calls, latencyMs, kind }: CheckReport): string[] {
  const vector = kind === 'embedder' ? `; ${dims.live} dimensions, ${dtype.live}` : '';
  const limits =
    kind === 'embedder'
      ? `cosine ${bounds.minCosine} or more, length within ${100 * bounds.maxLengthError} %`
      : `score within ${bounds.maxScoreError}`;
  const codes = Object.entries(calls.byCode).map(([code, count]) => `, ${count} ${code}`);
  return [
    `fingerprint: ${fingerprint.live ?? 'none'}${vector}`,
    `bounds: ${limits}`,
    ...(worst === null
      ? []
      : [
          `worst: row ${worst.index} (${worst.label}) ${worst.way === 'alone' ? 'alone' : 'in a batch'}: ${measure(worst)}`,
        ]),
    `calls: ${calls.total}, failed ${calls.failed}${codes.join('')}; full queue waited out ${calls.waits} times`,
    `latency alone: ${latency(latencyMs.alone)}; batch: ${latency(latencyMs.batch)}`,
  ];
}

function table({ rows, kind }: CheckReport, golden: Golden, showText: boolean): string[] {
  const width = Math.max(...rows.map(({ label }) => label.length), 5);
  const title =
    kind === 'embedder' ? 'cosine of each row, ! where one is wrong:' : 'error of each score, ! where one is wrong:';
  const line = (index: string, label: string, batch: string, alone: string) =>
    `${index.padStart(4)}  ${label.padEnd(width)}  ${batch.padEnd(14)}${alone.padEnd(14)}`;
  const body = golden.rows.map((row, index) => {
    const cell = (way: Finding['way']) => {
      const finding = rows.find((one) => one.index === index && one.way === way);
      return finding === undefined ? '-' : `${measure(finding)}${finding.faults.length > 0 ? ' !' : ''}`;
    };
    const text = 'text' in row ? row.text : `${row.query} | ${row.passage}`;
    const shown = showText ? JSON.stringify(text.slice(0, TEXT_SHOWN)) : '';
    return `${line(String(index), row.label, cell('batch'), cell('alone'))}${shown}`.trimEnd();
  });
  return [title, line('row', 'label', 'in a batch', 'alone').trimEnd(), ...body];
}

function measure({ answers, notFinite, cosine, scoreError }: Finding): string {
  if (answers === 0) return 'no answer';
  if (notFinite > 0) return 'not finite';
  return (cosine ?? scoreError ?? Number.NaN).toFixed(7);
}

function latency(of: Latency | null): string {
  if (of === null) return 'none';
  const ms = (value: number) => value.toFixed(1);
  return `P50 ${ms(of.p50)} ms, P99 ${ms(of.p99)} ms, most ${ms(of.max)} ms of ${of.calls}`;
}
