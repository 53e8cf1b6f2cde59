/** What is said of the checks: lines for a person, an object for a machine, an exit code. Pure. */
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { harmless } from '../tool/table.ts';
import type { Line, Tone } from '../tool/terminal.ts';
import type { Outcome } from './check.ts';
import type { Checked } from './run-checks.ts';

const TONES: Readonly<Record<Outcome['kind'], Tone>> = { ok: 'good', warn: 'warning', fail: 'bad', skipped: 'quiet' };
const KIND_WIDTH = 9;

export function reportLines(checked: readonly Checked[]): readonly Line[] {
  const width = Math.max(0, ...checked.map(({ name }) => name.length)) + 2;
  return [
    ...checked.flatMap(({ name, outcome }): Line[] => {
      const said = outcome.kind === 'skipped' ? outcome.why : outcome.found;
      const [first = '', ...more] = said.split('\n');
      const indent = ' '.repeat(KIND_WIDTH + width);
      const line: Line = [
        { text: outcome.kind.padEnd(KIND_WIDTH), tone: TONES[outcome.kind] },
        { text: name.padEnd(width), tone: 'plain' },
        { text: harmless(first), tone: outcome.kind === 'skipped' ? 'quiet' : 'plain' },
      ];
      const rest = more.map((text): Line => [{ text: `${indent}${harmless(text)}`, tone: 'plain' }]);
      const remedy: Line[] =
        'remedy' in outcome ? [[{ text: `${indent}→ ${harmless(outcome.remedy)}`, tone: 'title' }]] : [];
      return [line, ...rest, ...remedy];
    }),
    [{ text: summary(checked), tone: 'title' }],
  ];
}

export function reportJson(checked: readonly Checked[]): object {
  const { ok, warn, fail, skipped } = counts(checked);
  const checks = checked.map(({ name, group, outcome }) => ({
    name,
    group,
    outcome: outcome.kind,
    found: outcome.kind === 'skipped' ? outcome.why : outcome.found,
    remedy: 'remedy' in outcome ? outcome.remedy : null,
  }));
  return { event: 'doctor', ok, warnings: warn, failed: fail, skipped, checks };
}

export function exitCodeOf(checked: readonly Checked[]): ExitCode {
  const failed = checked.filter(({ outcome }) => outcome.kind === 'fail');
  if (failed.some(({ group }) => group === 'settings')) return exitCodes.usage;
  return failed.length > 0 ? exitCodes.failed : exitCodes.done;
}

function summary(checked: readonly Checked[]): string {
  const { ok, warn, fail, skipped } = counts(checked);
  return `${ok} ok, ${warn} ${warn === 1 ? 'warning' : 'warnings'}, ${fail} failed, ${skipped} skipped`;
}

function counts(checked: readonly Checked[]): Readonly<Record<Outcome['kind'], number>> {
  const total = { ok: 0, warn: 0, fail: 0, skipped: 0 };
  for (const { outcome } of checked) total[outcome.kind]++;
  return total;
}
