/** A worker on a real Triton, both watched by a real Prometheus with the product's own rules. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { committedPath } from '../../../scripts/stack/package-root.ts';
import { type RunningPrometheus, startPrometheus } from '../../../scripts/stack/prometheus.ts';

export const RULES = committedPath('deploy/alerts/rag-serving-rules.yaml');

/**
 * The rules as they are, but that an alert fires sooner: only `for` is changed, no expression.
 */
export function withShortFor(folder: string, seconds: number): string {
  const file = join(folder, 'short-rules.yaml');
  writeFileSync(file, readFileSync(RULES, 'utf8').replace(/^(\s+for:) \S+$/gm, `$1 ${seconds}s`));
  return file;
}

export async function watch(targets: Readonly<Record<string, readonly string[]>>): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'rag-rules-'));
  try {
    return await startPrometheus({ targets, ruleFiles: [withShortFor(folder, 2)] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function firing(prometheus: RunningPrometheus): Promise<readonly string[]> {
  const alerts = await prometheus.alerts();
  return [...new Set(alerts.filter(({ state }) => state === 'firing').map(({ name }) => name))].sort();
}

/** The one value of an expression; undefined when there is none. */
export async function answerTo(prometheus: RunningPrometheus, expr: string): Promise<number | undefined> {
  const results = await prometheus.query(expr);
  if (results.length > 1) throw new Error(`${expr} has ${results.length} answers`);
  return results[0]?.value;
}
