/** The check of a live model from the wait for it to the report. It never rejects: what went wrong is the report. */
import { asServingError } from '../errors.ts';
import type { Asking } from './asking.ts';
import { BOUNDS } from './bounds.ts';
import { Findings } from './findings.ts';
import type { Golden } from './golden-file.ts';
import { type Interview, interview, WAYS } from './interview.ts';
import { type ReadyOptions, untilModelAnswers } from './ready-model.ts';
import {
  boundsFor,
  type CheckReport,
  decide,
  identityOf,
  type Limits,
  type Outcome,
  type Overrides,
} from './verdict.ts';

export type CheckOptions = Limits &
  Omit<ReadyOptions, 'questions'> & {
    readonly golden: Golden;
    readonly overrides: Overrides;
    readonly repeat: number;
  };

const NOTHING_ASKED: Interview = {
  ...{ calls: 0, waits: 0, failed: [], faultyRows: [], stopped: undefined },
  latenciesMs: { alone: [], batch: [] },
};

export async function checkModel(options: CheckOptions, signal: AbortSignal): Promise<CheckReport> {
  const { client, model, golden } = options;
  const about = { model, target: client.target, kind: golden.kind };
  let asking: Asking;
  try {
    ({ asking } = await untilModelAnswers({ ...options, questions: golden }, signal));
  } catch (thrown) {
    const error = asServingError(thrown);
    // Another kind of model than the golden file is of: a difference, and a proved one.
    const outcome = error.code === 'MODEL_CONTRACT_MISMATCH' ? 'differs' : 'unchecked';
    return { ...about, ...unasked(golden, options.overrides, outcome, `${error.code}: ${error.message}`) };
  }
  const bounds = boundsFor(golden, asking, options.overrides);
  const identity = identityOf(golden, asking, options.overrides);
  const evidence = { golden, identity, bounds, limits: options };
  const findings = new Findings(golden);
  // Vectors of other dimensions cannot be compared with these.
  if (identity.dims.golden !== identity.dims.live) {
    const told = { ...evidence, findings: [], orderFaults: [], interview: NOTHING_ASKED };
    return { ...about, ...decide(told) };
  }
  const asked = await interview(
    { ...options, asking, rows: golden.rows.length, ways: WAYS, onGiven: (given) => findings.take(given) },
    signal,
  );
  const seen = { findings: findings.judge(bounds), orderFaults: findings.orderFaults(bounds), interview: asked };
  return { ...about, ...decide({ ...evidence, ...seen }) };
}

function unasked(
  golden: Golden,
  { fingerprint }: Overrides,
  outcome: Outcome,
  reason: string,
): Omit<CheckReport, 'model' | 'target' | 'kind'> {
  const wanted = golden.kind === 'embedder' ? golden : undefined;
  const side = (text: string | null | undefined) => ({ golden: text ?? null, live: null });
  return {
    ...{ outcome, reasons: [reason], notes: [], rows: [], worst: null, bounds: BOUNDS[golden.precision] },
    fingerprint: side(fingerprint ?? golden.fingerprint),
    dims: side(wanted?.dims.toString()),
    dtype: side(wanted?.dtype),
    calls: { total: 0, failed: 0, errorRate: 0, byCode: {}, waits: 0 },
    latencyMs: { alone: null, batch: null },
  };
}
