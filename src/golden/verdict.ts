/**
 * What a check comes to. Pure.
 *
 * A proved difference outweighs everything: a model that gives one wrong vector is wrong, whatever else could not be asked.
 * Without one, anything that was not answered leaves the check undone; `equal` means that each row was seen both ways.
 */
import type { Asking } from './asking.ts';
import { BOUNDS, type Bounds } from './bounds.ts';
import type { Finding } from './findings.ts';
import type { Golden } from './golden-file.ts';
import type { Interview, Way } from './interview.ts';

export type Outcome = 'equal' | 'differs' | 'unchecked';

export type Limits = {
  readonly maxP99Ms?: number | undefined;
  /** Part of the calls that may fail; the rows must be answered some other time. */
  readonly maxErrorRate: number;
};

/** What somebody asks for instead of what follows from the model. */
export type Overrides = Partial<Bounds> & { readonly fingerprint?: string | undefined };

export type Latency = { readonly calls: number; readonly p50: number; readonly p99: number; readonly max: number };

/** Of two texts that both have to say something: the reference and the live model. */
export type Compared = { readonly golden: string | null; readonly live: string | null };

export type CheckReport = {
  readonly outcome: Outcome;
  readonly model: string;
  readonly target: string;
  readonly kind: Golden['kind'];
  /** Why it is not equal, the gravest first. */
  readonly reasons: readonly string[];
  /** What is worth knowing all the same. */
  readonly notes: readonly string[];
  readonly fingerprint: Compared;
  readonly dims: Compared;
  readonly dtype: Compared;
  readonly bounds: Bounds;
  readonly rows: readonly Finding[];
  /** The row that is worst, or nearest to its bounds. */
  readonly worst: Finding | null;
  readonly calls: {
    readonly total: number;
    readonly failed: number;
    readonly errorRate: number;
    readonly byCode: Readonly<Record<string, number>>;
    /** Times that a full queue was waited out. */
    readonly waits: number;
  };
  readonly latencyMs: Readonly<Record<Way, Latency | null>>;
};

/** Single precision only where both ends are in it. */
export function boundsFor(golden: Golden, live: Asking, overrides: Overrides): Bounds {
  const half = golden.precision === 'FP16' || live.vector?.dtype === 'FP16';
  const { minCosine, maxLengthError, maxScoreError } = BOUNDS[half ? 'FP16' : 'FP32'];
  return {
    minCosine: overrides.minCosine ?? minCosine,
    maxLengthError: overrides.maxLengthError ?? maxLengthError,
    maxScoreError: overrides.maxScoreError ?? maxScoreError,
  };
}

export type Identity = Pick<CheckReport, 'fingerprint' | 'dims' | 'dtype'>;

export function identityOf(golden: Golden, live: Asking, { fingerprint }: Overrides): Identity {
  const wanted = golden.kind === 'embedder' ? golden : undefined;
  return {
    fingerprint: { golden: fingerprint ?? golden.fingerprint, live: live.fingerprint ?? null },
    dims: { golden: textOf(wanted?.dims), live: textOf(live.vector?.dims) },
    dtype: { golden: textOf(wanted?.dtype), live: textOf(live.vector?.dtype) },
  };
}

/** Differences of the model itself, seen before a text is sent. */
export function identityFaults({ fingerprint, dims, dtype }: Identity): string[] {
  const faults = (['dims', 'dtype'] as const).flatMap((name) => {
    const { golden, live } = { dims, dtype }[name];
    return golden === live ? [] : [`${name}: ${live}, the golden file has ${golden}`];
  });
  if (fingerprint.golden === null || fingerprint.golden === fingerprint.live) return faults;
  return [`fingerprint: ${fingerprint.live ?? 'none'}, expected ${fingerprint.golden}`, ...faults];
}

export type Evidence = {
  readonly golden: Golden;
  readonly identity: Identity;
  readonly findings: readonly Finding[];
  readonly orderFaults: readonly string[];
  readonly interview: Interview;
  readonly bounds: Bounds;
  readonly limits: Limits;
};

type Decided = Omit<CheckReport, 'model' | 'target' | 'kind'>;

export function decide(evidence: Evidence): Decided {
  const { identity, findings, interview, bounds } = evidence;
  const latencyMs = { alone: latencyOf(interview.latenciesMs.alone), batch: latencyOf(interview.latenciesMs.batch) };
  const differences = [...identityFaults(identity), ...differencesOf(evidence, latencyMs.alone)];
  const gaps = gapsOf(evidence);
  const { calls: total, failed, waits } = interview;
  const byCode: Record<string, number> = {};
  for (const { error } of failed) byCode[error.code] = (byCode[error.code] ?? 0) + 1;
  return {
    outcome: differences.length > 0 ? 'differs' : gaps.length > 0 ? 'unchecked' : 'equal',
    reasons: [...differences, ...gaps],
    notes: notesOf(evidence),
    ...identity,
    bounds,
    rows: findings,
    worst: findings.filter(({ answers }) => answers > 0).toSorted(worseFirst)[0] ?? null,
    calls: { total, failed: failed.length, errorRate: total === 0 ? 0 : failed.length / total, byCode, waits },
    latencyMs,
  };
}

function differencesOf(
  { golden, findings, orderFaults, interview, limits }: Evidence,
  alone: Latency | null,
): string[] {
  const name = (index: number) => `row ${index} (${golden.rows[index]!.label})`;
  const faulty = findings
    .filter(({ faults }) => faults.length > 0)
    .toSorted(worseFirst)
    .map(({ index, way, faults }) => `${name(index)} ${inWay(way)}: ${faults.join('; ')}`);
  const refused = interview.failed
    .filter(({ error }) => error.failureClass === 'chunk' || error.code === 'INFERENCE_RESPONSE_INVALID')
    .map(({ indices, way, error }) => {
      const which = way === 'alone' ? name(indices[0]!) : `rows ${indices[0]}–${indices.at(-1)}`;
      return `${which} ${inWay(way)}: ${error.code}: ${error.message}`;
    });
  const failing = interview.faultyRows.map((index) => `${name(index)}: the model fails on it each time, not on others`);
  const { maxP99Ms } = limits;
  const slow =
    maxP99Ms !== undefined && alone !== null && alone.p99 > maxP99Ms
      ? [`latency: P99 of single rows is ${alone.p99.toFixed(1)} ms, over ${maxP99Ms} ms`]
      : [];
  return [...faulty, ...orderFaults, ...new Set([...refused, ...failing]), ...slow];
}

function gapsOf({ findings, interview, limits }: Evidence): string[] {
  const gaps: string[] = [];
  const { stopped, failed, calls } = interview;
  if (stopped !== undefined) gaps.push(`given up: ${stopped.code}: ${stopped.message}`);
  const unanswered = findings.filter(({ answers }) => answers === 0);
  if (unanswered.length > 0)
    gaps.push(`${unanswered.length} of ${findings.length} rows (batch and alone) have no answer`);
  if (calls > 0 && failed.length / calls > limits.maxErrorRate) {
    const codes = [...new Set(failed.map(({ error }) => error.code))].join(', ');
    gaps.push(`${failed.length} of ${calls} calls failed (${codes}), more than ${100 * limits.maxErrorRate} %`);
  }
  return gaps;
}

function notesOf({ golden, identity, findings }: Evidence): string[] {
  const notes: string[] = [];
  if (identity.fingerprint.golden === null) {
    notes.push('the fingerprint was not compared: the golden file has none (--fingerprint gives one)');
  }
  const faulty = findings.filter(({ faults }) => faults.length > 0);
  const aloneFaulty = faulty.some(({ way }) => way === 'alone');
  if (faulty.length > 0 && !aloneFaulty) {
    notes.push('only rows in a batch differ: padding or its mask is at fault, or rows are mixed up');
  }
  const { maxTokens } = golden;
  const beyond = ({ index }: Finding) => maxTokens !== null && (golden.rows[index]!.tokens ?? 0) > maxTokens;
  if (faulty.length > 0 && faulty.every(beyond)) {
    notes.push(`only rows beyond ${maxTokens} tokens differ: the tokenizer there cuts at another length`);
  }
  return notes;
}

function worseFirst(a: Finding, b: Finding): number {
  const rank = ({ notFinite, faults }: Finding) => (notFinite > 0 ? 2 : Number(faults.length > 0));
  const distance = ({ cosine, scoreError }: Finding) => scoreError ?? 1 - (cosine ?? -1);
  return rank(b) - rank(a) || distance(b) - distance(a);
}

function inWay(way: Way): string {
  return way === 'alone' ? 'alone' : 'in a batch';
}

/** By nearest rank: a number that was measured, not one between two. */
function latencyOf(ms: readonly number[]): Latency | null {
  if (ms.length === 0) return null;
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]!;
  return { calls: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1)! };
}

function textOf(value: string | number | undefined): string | null {
  return value === undefined ? null : String(value);
}
