/** What a snapshot of any program begins with: who it is, how long it has run, and whether it is ready. Time is an argument. */
import type { PhaseTracker } from '../lifecycle/phase.ts';
import { type Check, decideReadiness } from './readiness.ts';
import type { StatusSnapshot } from './status-schema.ts';

export type Program = Pick<StatusSnapshot, 'program' | 'pool' | 'worker' | 'version'>;

export function programStatus(
  program: Program,
  { current, sinceMs }: Pick<PhaseTracker, 'current' | 'sinceMs'>,
  checks: readonly Check[],
  { nowMs, uptimeMs }: { readonly nowMs: number; readonly uptimeMs: number },
): Omit<StatusSnapshot, 'modelServer' | 'vram' | 'ingest'> {
  const { body } = decideReadiness({ phase: current, checks });
  return {
    at: new Date(nowMs).toISOString(),
    ...program,
    uptimeSeconds: uptimeMs / 1_000,
    phase: body.phase,
    phaseSince: new Date(sinceMs).toISOString(),
    ready: body.status === 'ready',
    checks: body.checks,
  };
}
