/** `.chaos/report.json`: the numbers of a run, and nothing else. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { committedPath } from '../../scripts/stack/package-root.ts';
import type { FaultKind } from './model.ts';
import type { Fault } from './plan.ts';

export type ChaosReport = Readonly<Record<FaultKind, number>> & {
  readonly rounds: number;
  readonly shmFilesLeft: number;
  /** Texts embedded once more; null with the real Triton, which does not tell which texts it embeds. */
  readonly reembeddedAfterKill: number | null;
  readonly reembeddedAfterRebalance: number | null;
  readonly seed: number;
  readonly seconds: number;
  readonly faults: Readonly<Partial<Record<Fault, number>>>;
};

export function writeReport(report: ChaosReport): string {
  const folder = join(dirname(committedPath('package.json')), '.chaos');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'report.json');
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
  return path;
}
