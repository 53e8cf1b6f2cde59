/** What one look at a model server means for the checks of readiness, and for the status. Pure. */
import type { CheckState } from '../../lifecycle/health-states.ts';
import type { ModelStatus, VramStatus } from '../status-schema.ts';
import type { Look, ModelLook, Verdict } from './probe.ts';

export type CheckResult = { readonly state: CheckState; readonly reason: string | undefined };

const PASS: CheckResult = { state: 'pass', reason: undefined };

/** Triton itself, over HTTP. */
export function serverCheck({ server }: Look): CheckResult {
  return server?.kind === 'failed' ? { state: 'fail', reason: server.reason } : PASS;
}

/** Each model that is needed, over HTTP. */
export function modelsCheck({ models }: Look): CheckResult {
  return failures(models, ({ http }) => http) ?? PASS;
}

/** A real inference with each model that can be fed. When none can, nothing is known. */
export function inferenceCheck({ models }: Look): CheckResult {
  const failed = failures(models, ({ inference }) => inference);
  if (failed !== undefined) return failed;
  if (models.some(({ inference }) => inference.kind === 'ok')) return PASS;
  return { state: 'unknown', reason: 'no model that is required takes TEXT, or QUERY and PASSAGE' };
}

export function vramCheck(status: VramStatus, ok: boolean): CheckResult {
  const reason = status.reason ?? undefined;
  if (!ok) return { state: 'fail', reason };
  return status.utilization === null ? { state: 'unknown', reason } : { state: 'pass', reason };
}

export function modelStatus(
  { name, http, inference, description }: ModelLook,
  gpuBytes: number | undefined,
): ModelStatus {
  const fault = [http, inference].find((verdict) => verdict?.kind === 'failed');
  const vector = description?.outputs.find((output) => output.name === 'EMBEDDING');
  return {
    name,
    state: fault === undefined ? 'ready' : 'not_ready',
    reason: fault?.kind === 'failed' ? fault.reason : null,
    fingerprint: description?.parameters.fingerprint ?? null,
    dims: vector?.shape.at(-1) ?? null,
    maxBatch: description?.maxBatchSize ?? null,
    gpuBytes: gpuBytes ?? null,
  };
}

function failures(
  models: readonly ModelLook[],
  of: (model: ModelLook) => Verdict | undefined,
): CheckResult | undefined {
  const failed = models.flatMap((model) => {
    const verdict = of(model);
    return verdict?.kind === 'failed' ? [`${model.name}: ${verdict.reason}`] : [];
  });
  return failed.length === 0 ? undefined : { state: 'fail', reason: failed.join('; ') };
}
